-- One step of the Redis engine, run atomically: read, or verify and write. It knows keys, values, and numbers, but
-- none of Dibs's rules.
--
-- KEYS  1 meta     hash. state: life|version|nonce|rows|newest|latest|offset|turn_ends; base, run, turn, prefix, format; a ring,
--                  version modulo RING -> version, nonce, "all" or "", changed keys, separated by SEAM
--       2 values   hash: key -> value
--       3 keys     sorted set of all keys, in byte order
--       4 ledger   stream; the id of an entry is its number
--       5 mirror   hash: group and name -> row, for names whose plain key is not ours. For each group, the hash
--                  MIRROR:GROUP: name -> row: when its plain key expires, how long that is after its group was heard,
--                  since when, and until when at the latest; in milliseconds on the server's clock
--
-- ARGV  1 "look", "write", "settle", or "repair"
--       2 the life that the caller knows, "" for none
--       3 the version that the caller knows, "" for none; 7 the nonce of that version
--       4 the time that the step used, in microseconds ("write"); it may be long ago, but not before the
--         last write, and never in the future
--       5 nonce ("write", "settle"), a new name for the life ("repair")
--       6 a name if the caller takes priority when it is refused; "life" if this write starts a new life, which
--         neither waits for others nor uses the old life's clock ("write")
--       then, each list preceded by its length: keys to read; ranges to read, two values each.
--       For "write", all of these must be empty, as the step guessed. More lists follow:
--       keys and values to put; keys to delete; entries to append, seven values each; the number below which entries
--       are dropped, "0" for none; "" or the prefix of plain keys that mirror rows, the project that would like to use
--       it alone ("" if that is settled), and three lists (see engines/base.py, Mirrored) with times on the server's
--       clock; and for a new life its name, base, run, and offset.
--
-- Reply {status, life, version, nonce, now, newest, base, latest, offset, run, prefix, changed, points, ranges}: "changed" lists
-- keys and values since the version that the caller knows. Status:
--   ok       for "write" the reply is only {ok, now, prefix}, because long replies are slow; the prefix of plain keys is
--            "-" if they cannot be written
--   stale    "changed" says what changed
--   guess    "points" and "ranges" say what exists
--   clock    the step's time is in the future, or before the last write
--   turn     another caller has priority
--   reset    the caller's version is too old to determine what changed
--   astray   the store never had that version with that nonce: it was rolled back
--   life     another life, or none
--   damaged  keys and values do not match
-- For "settle": ok (the write with this nonce on top of the known version never happened, and never will), again (it
-- happened), reset (unknown). "repair" makes keys match values again if they do not, and ends the life.

local meta, values, keys, ledger = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local call, verb = redis.call, ARGV[1]
local MOST = 4000          -- values in one command: Lua's stack is small
local RING = 2048          -- versions for which changes are kept
local FAR = 1000           -- versions behind which reading everything is faster
local MANY = 250           -- a write with more keys than this does not list them
local SEAM = '\255'        -- a byte that no text contains
local TURN = 250000        -- how long priority lasts
local BACK = 250000        -- a clock that goes back further has jumped
local FORMAT = '3'         -- of the store; see engines/shared/format.py
local UNUSED = 86400000000 -- a project without a write for this long does not keep the prefix of plain keys to itself

local life, version, nonce, rows, newest, latest, offset, turn_ends = string.match(
  call('HGET', meta, 'state') or '', '^([^|]*)|(%d+)|(%x*)|(%d+)|(%d+)|(%d+)|(-?%d+)|(%d+)$')
local t = call('TIME')
local now = t[1] * 1000000 + t[2] + (offset or 0)
version, latest = tonumber(version), tonumber(latest) or 0
if now < latest and latest - now <= BACK then now = latest end

local points, ranges, changed, empty = {}, {}, {}, true

local function text(number) return string.format('%.0f', number) end

local function state(...)
  call('HSET', meta, 'state', table.concat({...}, '|'))
end

-- A store without meta may still have its ledger.
if not life then
  local last = call('XREVRANGE', ledger, '+', '-', 'COUNT', 1)[1]
  newest = last and string.match(last[1], '^%d+') or '0'
end

local function reply(status)
  local rest = call('HMGET', meta, 'base', 'run', 'prefix')
  return {status, life or false, version or -1, nonce or '', now, tonumber(newest) or 0, tonumber(rest[1]) or 0, latest,
    tonumber(offset) or 0, rest[2] or '', rest[3] or '', changed, points, ranges}
end

local function fetch(found)
  local flat = {}
  for first = 1, #found, MOST do
    local last = math.min(first + MOST - 1, #found)
    local got = call('HMGET', values, unpack(found, first, last))
    for i = first, last do
      flat[#flat + 1] = found[i]
      flat[#flat + 1] = got[i - first + 1]
    end
  end
  return flat
end

local function members(prefix, containing)
  local low, high = '-', '+'
  if prefix ~= '' then low, high = '[' .. prefix, '(' .. prefix .. '\255' end
  local found = call('ZRANGEBYLEX', keys, low, high)
  if containing == '' then return found end
  local some = {}
  for _, key in ipairs(found) do
    if string.find(key, containing, 1, true) then some[#some + 1] = key end
  end
  return some
end

-- Read the requested keys and ranges, and advance ``at``.
local at = 8
local function look()
  local count = tonumber(ARGV[at])
  for first = at + 1, at + count, MOST do
    local got = call('HMGET', values, unpack(ARGV, first, math.min(first + MOST - 1, at + count)))
    for _, value in ipairs(got) do
      points[#points + 1] = value
      if value then empty = false end
    end
  end
  at = at + count + 1
  count = tonumber(ARGV[at])
  for i = at + 1, at + 2 * count, 2 do
    local flat = fetch(members(ARGV[i], ARGV[i + 1]))
    ranges[#ranges + 1] = flat
    if #flat > 0 then empty = false end
  end
  at = at + 2 * count + 1
end

local function damaged()
  local count = tonumber(rows) or 0
  return call('HLEN', values) ~= count or call('ZCARD', keys) ~= count
end

if verb == 'repair' then
  if not damaged() then return reply('ok') end
  local names = call('HKEYS', values)
  call('DEL', keys)
  for first = 1, #names, MOST / 2 do
    local scored = {}
    for i = first, math.min(first + MOST / 2 - 1, #names) do
      scored[#scored + 1] = '0'
      scored[#scored + 1] = names[i]
    end
    call('ZADD', keys, unpack(scored))
  end
  call('HSET', meta, 'format', FORMAT)
  state(ARGV[5], text(version or 0), '', #names, newest, text(latest), offset or '0', '0')
  return reply('damaged')
end

local begin = verb == 'look' and ARGV[2] == ''
if (life or '') ~= ARGV[2] and not begin then return reply('life') end
local known = tonumber(ARGV[3])

if begin then
  local format = call('HGET', meta, 'format') or '1'
  if life and format ~= FORMAT then return redis.error_reply('FORMAT ' .. format) end
  -- Check now for what would fail in the middle of a write, because half of the write would be kept.
  local kinds = {[values] = 'hash', [keys] = 'zset', [ledger] = 'stream'}
  for key, kind in pairs(kinds) do
    local found = call('TYPE', key).ok
    if found ~= 'none' and found ~= kind then
      return redis.error_reply('WRONGTYPE ' .. key .. ' is a ' .. found .. ', but should be a ' .. kind)
    end
  end
  if redis.acl_check_cmd then
    for name, key in pairs({HSET = values, HDEL = values, ZADD = keys, ZREM = keys, XADD = ledger, XTRIM = ledger}) do
      if not redis.acl_check_cmd(name, key, 'x', 'x', 'x', 'x') then
        return redis.error_reply('NOPERM this user may not use ' .. name .. ' on ' .. key)
      end
    end
  end
end

if verb == 'settle' then
  local slot = (known or 0) + 1
  if (version or 0) >= slot then
    local line = call('HGET', meta, slot % RING) or ''
    local number, used = string.match(line, '^(%d+)\255(%x*)')
    if number ~= text(slot) then return reply('reset') end
    return reply(used == ARGV[5] and 'again' or 'ok')
  end
  -- Put an empty version in its place: if the write still arrives, it is too late.
  call('HSET', meta, slot % RING, text(slot) .. SEAM .. SEAM)
  state(life, text(slot), '', rows, newest, text(latest), offset, turn_ends)
  return reply('ok')
end

-- What the caller knows was once true; missing rows can only mislead a caller that reads something new.
if (verb == 'look' or known ~= version or ARGV[8] ~= '0' or ARGV[9] ~= '0') and damaged() then return reply('damaged') end
if known and (not version or known > version or (known == version and ARGV[7] ~= nonce)) then return reply('astray') end
if known and known ~= version then
  local number, used = string.match(call('HGET', meta, known % RING) or '', '^(%d+)\255(%x*)')
  local far = version - known > FAR
  if used ~= ARGV[7] and (not far or number == text(known)) then return reply('astray') end
  if far then return reply('reset') end
  local slots, seen = {}, {}
  for v = known + 1, version do slots[#slots + 1] = v % RING end
  for i, line in ipairs(call('HMGET', meta, unpack(slots))) do
    local number, all, listed = string.match(line or '', '^(%d+)\255%x*\255(%a*)(.*)$')
    if number ~= text(known + i) or all ~= '' then changed = {} return reply('reset') end
    for key in string.gmatch(listed, '\255([^\255]*)') do
      if not seen[key] then
        seen[key] = true
        changed[#changed + 1] = key
      end
    end
  end
  changed = fetch(changed)
end
look()
if verb == 'look' then return reply('ok') end

local turn, begins = ARGV[6], ARGV[6] == 'life'
local taken = (tonumber(turn_ends) or 0) >= now
local has_turn = taken and turn ~= '' and call('HGET', meta, 'turn') == turn
local function refuse(status)
  if turn ~= '' and not begins and (has_turn or not taken) then
    call('HSET', meta, 'turn', turn)
    state(life, text(version), nonce, rows, newest, text(latest), offset, text(now + TURN))
  end
  return reply(status)
end
if taken and not has_turn and not begins then return reply('turn') end
if known ~= version then return refuse('stale') end
if not empty then return refuse('guess') end
local moment = tonumber(ARGV[4])
if not begins and (moment > now or moment < latest) then return reply('clock') end

-- Plain keys that mirror rows: one for each name that a group holds. A key is ours if all groups in its value hold its
-- name, or if someone changed its value but not its ttl, or removed the ttl. Other keys are left alone.
local mirror, prefix, had = KEYS[5], '', life
local wall = t[1] * 1000 + math.floor(t[2] / 1000)

-- Show who holds a name whose key exists. Until now, the group was known to hold it ("known"), and the key expired at
-- "before". "row" is its row if it still holds the name.
local function show(name, group, known, before, row)
  local key, ours, parts, live, latest = prefix .. name, false, {}, {}, 0
  local found = redis.pcall('GET', key)
  if not found then return end
  if type(found) == 'string' then
    ours = true
    for part in string.gmatch(found, '[^,]+') do
      if part == group then
        ours = ours and known
      else
        parts[#parts + 1] = part
        if call('HEXISTS', mirror .. ':' .. part, name) == 0 then ours = false end
      end
    end
    if not ours and known then
      local left = call('PTTL', key)
      ours, parts = left == -1 or math.abs(left - (before - wall)) < 100, {}
    end
  end
  if not ours then
    call('HDEL', mirror .. ':' .. group, name)
    if row then call('HSET', mirror, group .. ' ' .. name, row) end
    return
  end
  if row then parts[#parts + 1] = group end
  for _, part in ipairs(parts) do
    local ends = tonumber(string.match(call('HGET', mirror .. ':' .. part, name) or '', '^%d+') or 0)
    if ends > wall then
      live[#live + 1] = part
      latest = math.max(latest, ends)
    end
  end
  table.sort(live)
  if #live == 0 then call('DEL', key) else call('SET', key, table.concat(live, ','), 'PXAT', text(latest)) end
end

local function ended(group, name, before)
  if call('HDEL', mirror .. ':' .. group, name) == 0 then
    call('HDEL', mirror, group .. ' ' .. name)
  elseif tonumber(before) > wall then
    local key = prefix .. name
    if redis.pcall('GET', key) == group then call('DEL', key) else show(name, group, true, before) end
  end
end

local function began(group, name, ends, times)
  local row = ends .. times
  local added = call('HSET', mirror .. ':' .. group, name, row)
  if tonumber(ends) > wall and not call('SET', prefix .. name, group, 'PXAT', ends, 'NX') then
    show(name, group, added == 0, 0, row)
  end
end

local function until_when(moment, row)
  local times, lasts, since, last = string.match(row, '^%d+( (%d+) (%d+) (%d+))$')
  return math.min(math.max(moment, tonumber(since)) + lasts, tonumber(last)), times
end

local function heard(group, moment)
  local rows = mirror .. ':' .. group
  local found, fresh, changed = call('HGETALL', rows), {}, {}
  for i = 1, #found, 2 do
    local name, key = found[i], prefix .. found[i]
    local ends, times = until_when(moment, found[i + 1])
    local value = redis.pcall('GET', key)
    fresh[i], fresh[i + 1] = name, text(ends) .. times
    if value == group then
      call('PEXPIREAT', key, text(ends))
    elseif value then
      changed[#changed + 1] = i
    elseif ends > wall then
      call('SET', key, group, 'PXAT', text(ends))
    end
  end
  for first = 1, #fresh, MOST do
    call('HSET', rows, unpack(fresh, first, math.min(first + MOST - 1, #fresh)))
  end
  for _, i in ipairs(changed) do show(found[i], group, true, string.match(found[i + 1], '^%d+'), fresh[i + 1]) end
  -- A key that was not ours may be gone.
  local others = call('HLEN', mirror) > 0 and call('HGETALL', mirror) or {}
  for i = 1, #others, 2 do
    local name = string.sub(others[i], #group + 2)
    if string.sub(others[i], 1, #group + 1) == group .. ' ' and call('EXISTS', prefix .. name) == 0 then
      local ends, times = until_when(moment, others[i + 1])
      call('HDEL', mirror, others[i])
      began(group, name, text(ends), times)
    end
  end
end

-- Drop what an earlier life showed.
local function clear()
  for _, rows in ipairs(call('KEYS', mirror .. ':*')) do
    local group, found = string.sub(rows, #mirror + 2), call('HGETALL', rows)
    for i = 1, #found, 2 do ended(group, found[i], string.match(found[i + 1], '^%d+')) end
  end
  call('DEL', mirror)
end

local function own_prefix(wanted, project)
  local owner, found = call('GET', 'dibs:' .. wanted .. 'owner'), wanted
  local used = owner and owner ~= project and call('HGET', 'dibs:{' .. owner .. '}:meta', 'state')
  local last, ahead = string.match(used or '', '|(%d+)|(-?%d+)|%d+$')
  if last and last - ahead > wall * 1000 - UNUSED then
    found = wanted .. '{' .. project .. '}:'
  elseif owner ~= project then
    call('SET', 'dibs:' .. wanted .. 'owner', project)
  end
  call('HSET', meta, 'prefix', found)
  return found
end

local function mirrored(i)
  prefix = ARGV[i]
  if ARGV[i + 1] ~= '' then prefix = own_prefix(ARGV[i], ARGV[i + 1]) end
  if begins and (had or newest ~= '0') then clear() end
  i = i + 2
  for first = i + 1, i + 3 * ARGV[i], 3 do ended(ARGV[first], ARGV[first + 1], ARGV[first + 2]) end
  i = i + 3 * ARGV[i] + 1
  for first = i + 1, i + 2 * ARGV[i], 2 do heard(ARGV[first], tonumber(ARGV[first + 1])) end
  i = i + 2 * ARGV[i] + 1
  for first = i + 1, i + 4 * ARGV[i], 4 do began(ARGV[first], ARGV[first + 1], ARGV[first + 2], ARGV[first + 3]) end
end

-- From here on, everything is written.

local stamp = text((version or 0) + 1)
local touched = {stamp, ARGV[5], ''}
rows = tonumber(rows) or 0
local puts = tonumber(ARGV[at])
local puts_at = at
at = at + 2 * puts + 1
local gone = tonumber(ARGV[at])
local gone_at = at
at = at + gone + 1

-- Entries first: of all that follows, only they can fail, if a number is too low.
local entries = tonumber(ARGV[at])
for i = at + 1, at + 7 * entries, 7 do
  newest = ARGV[i]
  call('XADD', ledger, newest .. '-0', 'at', ARGV[i + 1], 'agent', ARGV[i + 2], 'role', ARGV[i + 3],
    'kind', ARGV[i + 4], 'summary', ARGV[i + 5], 'details', ARGV[i + 6])
end
at = at + 7 * entries + 1

for first = puts_at + 1, puts_at + 2 * puts, MOST do
  local last, scored = math.min(first + MOST - 1, puts_at + 2 * puts), {}
  local added = call('HSET', values, unpack(ARGV, first, last))
  for i = first, last, 2 do
    touched[#touched + 1] = ARGV[i]
    scored[#scored + 1] = '0'
    scored[#scored + 1] = ARGV[i]
  end
  if added > 0 then
    call('ZADD', keys, unpack(scored))
    rows = rows + added
  end
end
for first = gone_at + 1, gone_at + gone, MOST do
  local last = math.min(first + MOST - 1, gone_at + gone)
  rows = rows - call('HDEL', values, unpack(ARGV, first, last))
  call('ZREM', keys, unpack(ARGV, first, last))
  for i = first, last do touched[#touched + 1] = ARGV[i] end
end
if ARGV[at] ~= '0' then call('XTRIM', ledger, 'MINID', ARGV[at] .. '-0') end
if begins then
  life, offset = ARGV[#ARGV - 3], ARGV[#ARGV]
  call('HSET', meta, 'base', ARGV[#ARGV - 2], 'run', ARGV[#ARGV - 1], 'format', FORMAT)
end
-- A user that may not write these keys can still use the store.
if ARGV[at + 1] ~= '' and not pcall(mirrored, at + 1) then prefix = '-' end
if has_turn then turn_ends = '0' end
if #touched > MANY then touched = {stamp, ARGV[5], 'all'} end
call('HSET', meta, stamp % RING, table.concat(touched, SEAM), 'state', table.concat(
  {life, stamp, ARGV[5], rows, newest or '0', ARGV[4], offset, turn_ends or '0'}, '|'))
return {'ok', now, prefix}
