-- KEYS: hosts (packed name and slot -> id), id:hosts (the last id). ARGV: packed name and slot. Returns its id.
local id = redis.call('HGET', KEYS[1], ARGV[1])
if not id then
    id = redis.call('INCR', KEYS[2])
    redis.call('HSET', KEYS[1], ARGV[1], id)
end
return tonumber(id)
