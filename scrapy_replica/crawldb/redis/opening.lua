-- Tells that the process is alive and still reads the job.
-- COMMON
local gone = check_in()
if gone then
    return gone
end
call('ZADD', P .. 'alive', now() + OPENING * LEASE, ME)
