-- What is put before a script that changes something. The reply to its call may have been lost with the connection, and
-- then the same call comes again: the last number of each process is kept with its reply, which is given again.
-- The last key is where, the last arguments are the number and for how many seconds it is kept.
local done, keep, number = table.remove(KEYS), table.remove(ARGV), table.remove(ARGV)
local last = redis.call('HMGET', done, 'number', 'reply')
if last[1] == number then
    return cmsgpack.unpack(last[2])
end
local function script()
-- SCRIPT
end
local reply = script()
if reply == nil then
    reply = false
end
redis.call('HSET', done, 'number', number, 'reply', cmsgpack.pack(reply))
redis.call('EXPIRE', done, keep)
return reply
