-- What the scripts of the frontier begin with. KEYS[1] is the beginning of all names; ARGV[1] the process that asks,
-- ARGV[2] its lease in milliseconds.
--
-- NAME          type    what
-- u:N           hash    the 128 URLs from id 128 N on: id % 128 (1 byte) -> record
-- k:N           hash    key (8 bytes) -> id, also of one that is reserved and has no record yet
-- w:HOST        zset    what waits of a host (its row in hosts), best first: place and id (5 bytes)
-- slot          hash    host -> download slot
-- head          hash    host -> its entry in heads: place, id, host (5 bytes)
-- heads         zset    best waiting URL of each host that does not pause
-- q:SLOT        zset    those of the hosts of one download slot
-- best          hash    slot -> the best of them
-- free          zset    the best of the slots that belong to no process
-- ready:P       zset    the best of the slots of process P that it does not hold
-- own           hash    slot -> process that it belongs to; with "-" before it the last one that it belonged to
-- slots:P       set     slots that belong to process P
-- held:P        set     slots that process P holds
-- paused        set     hosts that pause
-- lease         hash    id of a URL that is being fetched -> process
-- leases:P      set     ids of the URLs that process P fetches
-- ended         hash    claim -> number of the change that ended it
-- t:TABLE       hash    packed primary key -> packed row, of each table but urls
-- hosts         hash    packed name and slot -> number in hosts
-- id:TABLE      string  last number of a row that was given, of tables with few rows
-- alive         zset    process -> milliseconds since the epoch until which it is alive, by the clock of Redis
-- idle          set     processes that have nothing to do
-- seen          zset    process -> the last change that it said to know of
-- lead          string  the process that leads
-- over          string  there is one: the crawl is through
-- processes     hash    process -> its host and pid
-- stats         hash    process -> its statistics, JSON
-- number        string  processes that were let in so far
-- lives         list    run id of Redis and number of changes, in turn, at each of its starts
-- layout        string  version of all this
-- job           string  first process; another job of this prefix, after all keys were deleted, has another one
-- done:P        hash    the last call of process P that changed something, and what was answered
-- log, seq      stream, string   the last changes, each with its number; the last number
-- logged        string  bytes of changes since the log was made shorter
-- id, waiting   string  last id of a URL; number of URLs that wait
--
-- A record is: state (1 character), length of the place (1 byte), place, host (5 bytes), the rest as the client packs it.
-- A place is a string of bytes that sorts as the URL does.
local P = KEYS[1]
local ME, LEASE = ARGV[1], tonumber(ARGV[2])
-- Leases that a process has from when it enters until it takes part: a job of a million URLs is read in 14 s and more,
-- and what a crawl makes of it takes its time.
local OPENING = 10
local WAITING, LEASED, DONE, DROPPED = '0', '1', '2', '3'
local call = redis.call

local function packed(number)
    return struct.pack('>I5', number)
end

local function unpacked(bytes)
    return (struct.unpack('>I5', bytes))
end

local function now()
    local time = call('TIME')
    return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- Strings of bytes: < goes by the locale of the server.
local function is_before(a, b)
    for n = 1, math.min(#a, #b) do
        local x, y = a:byte(n), b:byte(n)
        if x ~= y then
            return x < y
        end
    end
    return #a < #b
end

local function first(zset)
    return call('ZRANGE', P .. zset, 0, 0)[1]
end

local function is_demoted(entry)
    return entry:byte(1) >= 128
end

local function bucket(id)
    return P .. 'u:' .. string.format('%.0f', math.floor(id / 128)), string.char(id % 128)
end

local function record_of(id)
    return call('HGET', bucket(id))
end

local function parsed(record)
    local length = record:byte(2)
    return record:sub(1, 1), record:sub(3, 2 + length), record:sub(3 + length, 7 + length)
end

local function set_record(id, record)
    local key, field = bucket(id)
    call('HSET', key, field, record)
end

local function with_state(record, state)
    return state .. record:sub(2)
end

-- Where the best URL of a host stands

local function zset_of(slot)
    local owner = call('HGET', P .. 'own', slot)
    if not owner or owner:sub(1, 1) == '-' then
        return 'free'
    elseif call('SISMEMBER', P .. 'held:' .. owner, slot) == 1 then
        return nil
    end
    return 'ready:' .. owner
end

local function change(zset, old, new)
    if old then
        call('ZREM', P .. zset, old)
    end
    if new then
        call('ZADD', P .. zset, 0, new)
    end
end

local function set(hash, field, value)
    if value then
        call('HSET', P .. hash, field, value)
    else
        call('HDEL', P .. hash, field)
    end
end

local function refresh_slot(slot)
    local best, known = first('q:' .. slot), call('HGET', P .. 'best', slot)
    if known ~= (best or false) then
        set('best', slot, best)
        local zset = zset_of(slot)
        if zset then
            change(zset, known, best)
        end
    end
end

local function refresh(host)
    local number = unpacked(host)
    local best = first('w:' .. number)
    if best and call('SISMEMBER', P .. 'paused', number) == 1 then
        best = nil
    end
    local entry, known = best and best .. host, call('HGET', P .. 'head', number)
    if known ~= (entry or false) then
        local slot = call('HGET', P .. 'slot', number)
        set('head', number, entry)
        change('heads', known, entry)
        change('q:' .. slot, known, entry)
        refresh_slot(slot)
    end
end

-- Moves the best URL of a slot from one zset to another; either may be nil.
local function move(slot, from, to)
    local best = call('HGET', P .. 'best', slot)
    if best and from ~= to then
        if from then
            change(from, best, nil)
        end
        if to then
            change(to, nil, best)
        end
    end
end

local function give_up(slot, process)
    local before = zset_of(slot)
    call('HSET', P .. 'own', slot, '-' .. process)
    call('SREM', P .. 'slots:' .. process, slot)
    move(slot, before, 'free')
end

-- The entry in heads of the URL to take next by this process, if any, and whether its slot belongs to nobody.
local function next_entry()
    local mine, free = first('ready:' .. ME), first('free')
    local is_free = free and (not mine or is_before(free, mine))
    local entry = is_free and free or mine
    -- What is demoted waits behind everything else, also behind what is not ready.
    if entry and is_demoted(entry) and not is_demoted(first('heads')) then
        entry = nil
    end
    return entry, is_free
end

-- The host of the URL to take next, and those that come next, so many at most.
local function next_hosts(most)
    local hosts = {}
    if most == 0 or not next_entry() then
        return hosts
    end
    local best = call('ZRANGE', P .. 'ready:' .. ME, 0, most - 1)
    for _, other in ipairs(call('ZRANGE', P .. 'free', 0, most - 1)) do
        best[#best + 1] = other
    end
    table.sort(best, is_before)
    for n = 1, math.min(#best, most) do
        hosts[n] = unpacked(best[n]:sub(-5))
    end
    return hosts
end

-- Whether the slot belonged to another process meanwhile.
local function claim(slot)
    local before, last = zset_of(slot), call('HGET', P .. 'own', slot)
    call('HSET', P .. 'own', slot, ME)
    call('SADD', P .. 'slots:' .. ME, slot)
    move(slot, before, zset_of(slot))
    return last and last ~= '-' .. ME
end

-- Changes

local MOST_CHANGES, MOST_BYTES = 20000, 256 * 1024 * 1024

-- The log is as long as MOST_CHANGES, so that who looks now and then finds where it was; where changes are large, what
-- all processes know goes when MOST_BYTES came together.
local function add_to_log(...)
    local seq = call('INCR', P .. 'seq')
    call('XADD', P .. 'log', 'MAXLEN', '~', MOST_CHANGES, string.format('%.0f-1', seq), 'p', ME, ...)
    local size = 0
    for _, value in ipairs({...}) do
        size = size + #value
    end
    if call('INCRBY', P .. 'logged', size) > MOST_BYTES then
        local least = call('ZRANGE', P .. 'seen', 0, 0, 'WITHSCORES')[2]
        call('XTRIM', P .. 'log', 'MINID', string.format('%.0f', (least or seq - 1) + 1))
        call('SET', P .. 'logged', 0)
    end
    return seq
end

-- More URLs that wait than "waiting" says.
local n_waiting = 0

-- Enters a record in place of the old one, if there is any; touched collects the hosts that must be refreshed.
local function put(id, old, record, touched)
    if old then
        local state, place, host = parsed(old)
        if state == WAITING then
            call('ZREM', P .. 'w:' .. unpacked(host), place .. packed(id))
            n_waiting = n_waiting - 1
            touched[host] = true
        elseif state == LEASED and record:sub(1, 1) ~= LEASED then
            local owner = call('HGET', P .. 'lease', id)
            if owner then
                call('HDEL', P .. 'lease', id)
                call('SREM', P .. 'leases:' .. owner, id)
            end
        end
    end
    local state, place, host = parsed(record)
    if state == WAITING then
        call('ZADD', P .. 'w:' .. unpacked(host), 0, place .. packed(id))
        n_waiting = n_waiting + 1
        touched[host] = true
    end
    set_record(id, record)
end

-- Ends a row of calls of put.
local function settle(touched)
    for host in pairs(touched) do
        refresh(host)
    end
    call('INCRBY', P .. 'waiting', n_waiting)
    n_waiting = 0
end

-- Lets a URL of that state wait; fixes collects the records that this changed.
local function let_wait(id, state, touched, fixes)
    local record = record_of(id)
    if record and record:sub(1, 1) == state then
        local now_waiting = with_state(record, WAITING)
        put(id, record, now_waiting, touched)
        fixes[#fixes + 1] = {id, now_waiting}
    end
end

-- Lets everything of a process that is gone go on with the others.
local function bury(process)
    local touched, fixes = {}, {}
    for _, id in ipairs(call('SMEMBERS', P .. 'leases:' .. process)) do
        id = tonumber(id)
        let_wait(id, LEASED, touched, fixes)
        call('HDEL', P .. 'lease', id)
    end
    call('DEL', P .. 'leases:' .. process, P .. 'held:' .. process)
    settle(touched)
    for _, slot in ipairs(call('SMEMBERS', P .. 'slots:' .. process)) do
        give_up(slot, process)
    end
    call('DEL', P .. 'slots:' .. process, P .. 'ready:' .. process)
    call('ZREM', P .. 'alive', process)
    call('SREM', P .. 'idle', process)
    call('ZREM', P .. 'seen', process)
    if call('GET', P .. 'lead') == process then
        call('DEL', P .. 'lead')
    end
    if #fixes > 0 then
        add_to_log('f', cmsgpack.pack(fixes))
    end
end

-- Whether no process has anything to do, and all know of all changes, of which they might make something to do.
local function are_all_idle()
    local n_idle, n_alive = call('SCARD', P .. 'idle'), call('ZCARD', P .. 'alive')
    local n_up = call('ZCOUNT', P .. 'seen', call('GET', P .. 'seq') or 0, '+inf')
    local waiting = tonumber(call('GET', P .. 'waiting') or 0)
    return n_idle == n_alive and n_up == n_alive and waiting == 0 and call('HLEN', P .. 'lease') == 0
end

local function bury_the_dead()
    for _, process in ipairs(call('ZRANGEBYSCORE', P .. 'alive', '-inf', now())) do
        bury(process)
    end
end

-- Tells that the process is alive; one that was taken for dead may not go on. Where it comes late, and nobody took it for
-- dead, Redis may have been away: the others have a lease once more as well.
local function check_in()
    local deadline, time = call('ZSCORE', P .. 'alive', ME), now()
    if not deadline then
        return redis.error_reply('GONE this process gave no sign of life for too long')
    end
    if tonumber(deadline) < time then
        for _, process in ipairs(call('ZRANGEBYSCORE', P .. 'alive', '-inf', time)) do
            call('ZADD', P .. 'alive', time + LEASE, process)
        end
    end
    -- Who reads the job has longer.
    call('ZADD', P .. 'alive', 'GT', time + LEASE, ME)
    return nil
end

-- From when it takes URLs, others wait for it no longer than a lease.
local function is_open()
    call('ZADD', P .. 'alive', now() + LEASE, ME)
end
