-- Leases the best URL of the slots that belong to the process or to none, and that it does not hold.
-- Returns nothing, or: id, host, record, whether the slot belonged to another process before, URLs that wait, the last
-- change.
-- COMMON
local gone = check_in()
if gone then
    return gone
end
local entry, is_free = next_entry()
if not entry then
    return cmsgpack.pack({false})
end
local host = entry:sub(-5)
is_open()
local slot = call('HGET', P .. 'slot', unpacked(host))
local is_other = is_free and claim(slot) or false
local id = unpacked(entry:sub(-10, -6))
local touched, old = {}, record_of(id)
local record = with_state(old, LEASED)
put(id, old, record, touched)
settle(touched)
call('HSET', P .. 'lease', id, ME)
call('SADD', P .. 'leases:' .. ME, id)
call('SREM', P .. 'idle', ME)
call('DEL', P .. 'over')
local seq = add_to_log('f', cmsgpack.pack({{id, record}}))
return cmsgpack.pack({id, unpacked(host), record, is_other, tonumber(call('GET', P .. 'waiting')), seq})
