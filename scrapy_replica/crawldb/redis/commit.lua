-- Ships what a process changed. ARGV[3] packs: slots (pairs of act and slot or host), hosts (host, slot), suppressed (id,
-- claim, key and row of what is entered in suppressed, target id or false, state of it that is expected), ended (claims), seen
-- (the last change that the crawl of the process was told of), first (hosts to tell of, at most), log (rows and URLs, as the others read them: table, key
-- and row, nil where it is deleted; id and record, nil likewise) and before (the states that the URLs of it had, or false).
-- Returns: last change, URLs that wait, records that are otherwise than the process thought (id, record), keys
-- of rows of suppressed that are not kept, rules that had ended elsewhere (key, row), hosts of the URLs to take next.
-- COMMON
local gone = check_in()
if gone then
    return gone
end
local what = cmsgpack.unpack(ARGV[3])
local rows, urls = unpack(cmsgpack.unpack(what.log))
local touched, fixes = {}, {}

for _, host in ipairs(what.hosts) do
    call('HSET', P .. 'slot', host[1], host[2])
end

for _, act in ipairs(what.slots) do
    local kind, name = act[1], act[2]
    if kind == 'hold' then
        local owner = call('HGET', P .. 'own', name)
        if not owner or owner:sub(1, 1) == '-' then
            claim(name)
        end
        local from = zset_of(name)
        call('SADD', P .. 'held:' .. ME, name)
        move(name, from, zset_of(name))
    elseif kind == 'release' then
        local from = zset_of(name)
        call('SREM', P .. 'held:' .. ME, name)
        move(name, from, zset_of(name))
    elseif kind == 'pause' then
        call('SADD', P .. 'paused', name)
        touched[packed(name)] = true
    elseif kind == 'resume' then
        call('SREM', P .. 'paused', name)
        touched[packed(name)] = true
    end
end

local function forget(id)
    local record = record_of(id)
    if record then
        put(id, record, with_state(record, DROPPED), touched)
        local key, field = bucket(id)
        call('HDEL', key, field)
    end
end

-- Which record stands, where another process changed it since this one saw it.
local function merged(id, expected, mine, theirs)
    local state, wanted = theirs:sub(1, 1), mine:sub(1, 1)
    if state == expected or (state == LEASED and call('HGET', P .. 'lease', id) == ME) then
        return mine
    elseif wanted == WAITING and state == DROPPED then
        return mine
    elseif wanted == WAITING and state == WAITING then
        local _, my_place = parsed(mine)
        local _, their_place = parsed(theirs)
        return is_before(my_place, their_place) and mine or theirs
    end
    return theirs
end

for n, url in ipairs(urls) do
    local id, expected, record = url[1], what.before[n], url[2]
    if not record then
        forget(id)
    else
        local theirs = record_of(id)
        local stands = theirs and merged(id, expected, record, theirs) or record
        if stands ~= theirs then
            put(id, theirs, stands, touched)
        end
        if stands ~= record then
            fixes[#fixes + 1] = {id, stands}
        end
    end
end

-- Nothing is suppressed by what ended meanwhile, or for a page that came to its end meanwhile: it waits, to be decided about
-- anew.
local void, is_void = {}, {}
for _, row in ipairs(what.suppressed) do
    local claim, target, expected = row[2], row[5], row[6]
    local ended = tonumber(call('HGET', P .. 'ended', claim) or 0)
    local is_stale = ended > what.seen
    if not is_stale and target then
        local record = record_of(target)
        local state = record and record:sub(1, 1)
        is_stale = state ~= expected and (state == DONE or state == DROPPED)
    end
    is_void[row[1]] = is_void[row[1]] or is_stale
end
for _, row in ipairs(what.suppressed) do
    local id, key = row[1], row[3]
    if not is_void[id] then
        call('HSET', P .. 't:suppressed', key, row[4])
    else
        void[#void + 1] = key
        call('HDEL', P .. 't:suppressed', key)
        let_wait(id, DROPPED, touched, fixes)
    end
end

-- Who did not hear yet that a rule ended writes what it counted of it: it stays ended.
local ENDS, ended_rules = {refuted = 1, disabled = 2}, {}
local function end_of(rule)
    return ENDS[cmsgpack.unpack(rule)[4]] or 0
end

for _, row in ipairs(rows) do
    local name, key, mine = row[1], row[2], row[3]
    local theirs = name == 'rules' and mine and call('HGET', P .. 't:rules', key)
    if theirs and end_of(theirs) > end_of(mine) then
        ended_rules[#ended_rules + 1] = {key, theirs}
    elseif not mine then
        call('HDEL', P .. 't:' .. name, key)
    elseif name ~= 'suppressed' then
        call('HSET', P .. 't:' .. name, key, mine)
    end
end

settle(touched)
local seq
if #rows > 0 or #urls > 0 then
    seq = add_to_log('d', what.log, 'f', cmsgpack.pack(fixes), 'n', cmsgpack.pack(void), 'r', cmsgpack.pack(ended_rules))
else
    seq = tonumber(call('GET', P .. 'seq') or 0)
end
for _, claim in ipairs(what.ended) do
    call('HSET', P .. 'ended', claim, seq)
end
return cmsgpack.pack({seq, tonumber(call('GET', P .. 'waiting') or 0), fixes, void, ended_rules, next_hosts(what.first)})
