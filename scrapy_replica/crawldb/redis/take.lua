-- Leases the best URL of the slots that belong to the process or to none, and that it does not hold; ARGV[3] is a number
-- to tell only which host it is of, and so many hosts at most that come next.
-- Returns nothing, or: id, host, record, whether the slot belonged to another process before, URLs that wait, the last
-- change.
-- COMMON
local gone = check_in()
if gone then
    return gone
end
local mine, free = first('ready:' .. ME), first('free')
local is_free = free and (not mine or is_before(free, mine))
local entry = is_free and free or mine
-- What is demoted waits behind everything else, also behind what is not ready.
if entry and is_demoted(entry) and not is_demoted(first('heads')) then
    entry = nil
end
if not entry then
    return cmsgpack.pack(ARGV[3] and {} or {false})
end
if ARGV[3] then
    local best = call('ZRANGE', P .. 'ready:' .. ME, 0, ARGV[3] - 1)
    for _, other in ipairs(call('ZRANGE', P .. 'free', 0, ARGV[3] - 1)) do
        best[#best + 1] = other
    end
    table.sort(best, is_before)
    local hosts = {}
    for n = 1, math.min(#best, ARGV[3]) do
        hosts[n] = unpacked(best[n]:sub(-5))
    end
    return cmsgpack.pack(hosts)
end
local host = entry:sub(-5)
is_open()
local slot = call('HGET', P .. 'slot', unpacked(host))
local is_other = is_free and claim(slot) or false
local id = unpacked(entry:sub(-10, -6))
local touched, record = {}, with_state(record_of(id), LEASED)
put(id, record, touched)
settle(touched)
call('HSET', P .. 'lease', id, ME)
call('SADD', P .. 'leases:' .. ME, id)
call('SREM', P .. 'idle', ME)
call('DEL', P .. 'over')
local seq = add_to_log('f', cmsgpack.pack({{id, record}}))
return cmsgpack.pack({id, unpacked(host), record, is_other, tonumber(call('GET', P .. 'waiting')), seq})
