-- Tells what is known of keys (ARGV[3] packs them; an empty one stands for a URL without), and gives each an id, in
-- their order, where it has none.
-- Returns for each: id, record or false.
-- COMMON
local gone = check_in()
if gone then
    return gone
end
local found = {}
for place, key in ipairs(cmsgpack.unpack(ARGV[3])) do
    local id, index = nil, nil
    if key ~= '' then
        index = P .. 'k:' .. key:byte(7) % 64 * 256 + key:byte(8)
        id = tonumber(call('HGET', index, key) or nil)
    end
    if id then
        found[place] = {id, record_of(id)}
    else
        id = call('INCR', P .. 'id')
        if index then
            call('HSET', index, key, id)
        end
        found[place] = {id, false}
    end
end
return cmsgpack.pack(found)
