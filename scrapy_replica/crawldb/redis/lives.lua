-- KEYS: lives (run id and number of changes, in turn, of each time that the server was started while the job was there),
-- seq, done:P, and the last numbers that were given of each kind. ARGV: the run id of the server now, the one that the
-- process knew, empty at its first connection, the number of its last call that was answered, and how many numbers of
-- each kind a start passes over: the server may have lost that it gave some, for rows that were not entered yet.
-- Returns the number of changes that the server has, or the least that it had after a start that the process missed:
-- what is beyond was lost. -1: it does not know the life that the process knew, or its last call.
local seq = tonumber(redis.call('GET', KEYS[2]) or 0)
local lives = redis.call('LRANGE', KEYS[1], 0, -1)
local found = seq
if ARGV[2] ~= '' then
    local place = #lives - 1
    while place > 0 and lives[place] ~= ARGV[2] do
        found = math.min(found, tonumber(lives[place + 1]))
        place = place - 2
    end
    if place < 1 or tonumber(redis.call('HGET', KEYS[3], 'number') or 0) < tonumber(ARGV[3]) then
        found = -1
    end
end
if lives[#lives - 1] ~= ARGV[1] then
    redis.call('RPUSH', KEYS[1], ARGV[1], seq)
    for n = 4, #lives > 0 and #KEYS or 0 do
        redis.call('INCRBY', KEYS[n], ARGV[n])
    end
end
return found
