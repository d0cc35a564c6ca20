-- Tells that the process is alive, whether it has nothing to do (ARGV[3] is "1") and the last change that it knows of
-- (ARGV[4]), lets the work of those that are not go on, and sees that somebody leads.
-- Returns: the last change, whether the process leads, URLs that wait, whether all processes have nothing to do, and
-- nothing waits or is being fetched, whether another one has no host that it could go on with, whether the crawl is over.
-- COMMON
local gone = check_in()
if gone then
    return gone
end
is_open()
bury_the_dead()
call('ZADD', P .. 'seen', ARGV[4], ME)
-- One that waits for the delays of its own hosts needs none of others.
local is_idle, has_own = ARGV[3] == '1', false
if is_idle then
    for _, slot in ipairs(call('SMEMBERS', P .. 'slots:' .. ME)) do
        has_own = has_own or call('HEXISTS', P .. 'best', slot) == 1
    end
end
local is_needy = is_idle and not has_own
call(is_idle and 'SADD' or 'SREM', P .. 'idle', ME)
call(is_needy and 'SADD' or 'SREM', P .. 'needy', ME)
local lead = call('GET', P .. 'lead')
if not lead then
    lead = ME
    call('SET', P .. 'lead', ME)
end
local waiting = tonumber(call('GET', P .. 'waiting') or 0)
local is_other_needy = call('SCARD', P .. 'needy') > (is_needy and 1 or 0)
return cmsgpack.pack({
    tonumber(call('GET', P .. 'seq') or 0), lead == ME, waiting, are_all_idle(), is_other_needy,
    call('EXISTS', P .. 'over') == 1,
})
