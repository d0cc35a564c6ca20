-- KEYS: lives (run id and number of changes, in turn, of each time that the server was started while the job was there),
-- seq. ARGV: the run id of the server now, and the one that the process knew, empty at its first connection.
-- Returns the number of changes that the server had, or the least that it had after a start that the process missed:
-- what is beyond was lost. -1: the server does not know the process's life, so it has lost everything.
local seq = tonumber(redis.call('GET', KEYS[2]) or 0)
local lives = redis.call('LRANGE', KEYS[1], 0, -1)
local found = seq
if ARGV[2] ~= '' then
    local place = #lives - 1
    while place > 0 and lives[place] ~= ARGV[2] do
        found = math.min(found, tonumber(lives[place + 1]))
        place = place - 2
    end
    if place < 1 then
        found = -1
    end
end
if lives[#lives - 1] ~= ARGV[1] then
    redis.call('RPUSH', KEYS[1], ARGV[1], seq)
end
return found
