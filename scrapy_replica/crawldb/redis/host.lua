-- KEYS: hosts (packed name and slot -> id), id:hosts (the last id). ARGV: names. Returns the id of each, new ones entered.
local found = {}
for place, name in ipairs(ARGV) do
    local id = redis.call('HGET', KEYS[1], name)
    if not id then
        id = redis.call('INCR', KEYS[2])
        redis.call('HSET', KEYS[1], name, id)
    end
    found[place] = tonumber(id)
end
return found
