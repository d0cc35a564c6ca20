-- Tells that the process is alive, whether it has nothing to do (ARGV[3] is "1") and the last change that it knows of
-- (ARGV[4]), lets the work of those that are not go on, and sees that somebody leads.
-- Returns: the last change, whether the process leads, URLs that wait, whether all processes have nothing to do, and
-- nothing waits or is being fetched, whether another one has nothing to do, whether such a one does not even wait for
-- the delay of a host, whether the crawl is over.
-- COMMON
-- Whether nothing waits on the hosts that the process holds.
local function is_bare(process)
    for _, slot in ipairs(call('SMEMBERS', P .. 'held:' .. process)) do
        if call('HEXISTS', P .. 'best', slot) == 1 then
            return false
        end
    end
    return true
end

local gone = check_in()
if gone then
    return gone
end
is_open()
bury_the_dead()
call('ZADD', P .. 'seen', ARGV[4], ME)
if ARGV[3] == '1' then
    call('SADD', P .. 'idle', ME)
else
    call('SREM', P .. 'idle', ME)
end
local lead = call('GET', P .. 'lead')
if not lead then
    lead = ME
    call('SET', P .. 'lead', ME)
end
local waiting = tonumber(call('GET', P .. 'waiting') or 0)
local is_other_idle, is_other_bare = false, false
for _, process in ipairs(call('SMEMBERS', P .. 'idle')) do
    if process ~= ME then
        is_other_idle, is_other_bare = true, is_other_bare or is_bare(process)
    end
end
return cmsgpack.pack({
    tonumber(call('GET', P .. 'seq') or 0), lead == ME, waiting, are_all_idle(), is_other_idle,
    is_other_bare, call('EXISTS', P .. 'over') == 1,
})
