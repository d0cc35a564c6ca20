-- Lets a process in: ARGV[3] says who it is, ARGV[4] the layout that it knows. Returns its number, the last change,
-- whether there is a job already, whether the process leads, URLs that wait; an error where the layout is another one.
-- COMMON
local layout = call('GET', P .. 'layout')
if layout and layout ~= ARGV[4] then
    return redis.error_reply('LAYOUT ' .. layout)
end
call('SET', P .. 'layout', ARGV[4])
call('SETNX', P .. 'job', ME)
bury_the_dead()
if call('ZCARD', P .. 'alive') == 0 then
    -- Only that run knew of it.
    local paused = call('SMEMBERS', P .. 'paused')
    call('DEL', P .. 'paused', P .. 'over')
    for _, host in ipairs(paused) do
        refresh(packed(tonumber(host)))
    end
end
call('ZADD', P .. 'alive', now() + OPENING * LEASE, ME)
call('ZADD', P .. 'seen', call('GET', P .. 'seq') or 0, ME)
call('HSET', P .. 'processes', ME, ARGV[3])
if not call('GET', P .. 'lead') then
    call('SET', P .. 'lead', ME)
end
return {
    call('INCR', P .. 'number'), tonumber(call('GET', P .. 'seq') or 0),
    layout and 1 or 0, call('GET', P .. 'lead') == ME and 1 or 0, tonumber(call('GET', P .. 'waiting') or 0),
}
