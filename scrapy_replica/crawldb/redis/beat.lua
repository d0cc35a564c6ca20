-- Tells that the process is alive and whether it has nothing to do (ARGV[3] is "1"), lets the work of those that are not
-- go on, and sees that somebody leads.
-- Returns: the last change, whether the process leads, URLs that wait, whether all processes have nothing to do, and
-- nothing waits or is being fetched, whether another one has nothing to do, whether the crawl is over.
-- COMMON
local gone = check_in()
if gone then
    return gone
end
bury_the_dead()
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
local n_idle, n_alive = call('SCARD', P .. 'idle'), call('ZCARD', P .. 'alive')
local waiting = tonumber(call('GET', P .. 'waiting') or 0)
local are_idle = n_idle == n_alive and waiting == 0 and call('HLEN', P .. 'lease') == 0
local is_other_idle = n_idle > (ARGV[3] == '1' and 1 or 0)
return cmsgpack.pack({
    tonumber(call('GET', P .. 'seq') or 0), lead == ME, waiting, are_idle, is_other_idle,
    call('EXISTS', P .. 'over') == 1,
})
