-- Tells the host of the URL that the process would take, and those that come next, ARGV[3] at most.
-- COMMON
local gone = check_in()
if gone then
    return gone
end
return cmsgpack.pack(next_hosts(tonumber(ARGV[3])))
