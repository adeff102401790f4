import { createHash } from 'node:crypto';

/**
 * The scripts that write views (docs/rules.md#batch, #fence, #complete). Each works on one tag, so all its keys are in one slot. A fence
 * is `<epoch>:<sequence>:<owner>:<led or free>`. The open list is a sorted set: names by the round that wrote them last.
 * The name `compare` in it says that the tag's views must be compared.
 */

// A longer list is replaced by `compare`.
export const openNamesMax = 20_000;

/** A script's source, and the digest that the server knows it by. */
export interface Script {
  source: string;
  sha: string;
}

export const script = (source: string): Script => ({ source, sha: createHash('sha1').update(source).digest('hex') });

/**
 * How each script begins. `isOther` says whether a command failed because another program wrote our key with another type.
 * `found` is the tag's fence; a key of another type is none.
 */
const foundFence = `
local function isOther(reply)
  return type(reply) == 'table' and string.find(reply.err, 'WRONGTYPE', 1, true)
end
local found = redis.pcall('GET', KEYS[1]) or ''
if isOther(found) then found = '' end
if type(found) == 'table' then return found end
`;
const sayCompare = `redis.call('DEL', KEYS[3]); redis.call('ZADD', KEYS[3], '+inf', 'compare')`;

/**
 * KEYS: fence, position, open list, complete, led, then one key per write. ARGV: 1 the expected fence, 2 the new fence,
 * 3 the process whose views are complete (`?`: only asks which process this is; empty: neither), 4 the position to
 * store, or empty, 5 the round that began there, 6 `begin` or `end` of a compare of the tag, or empty, 7 the round of this batch,
 * 8 how many names it writes, the names; then the operations, a letter for each write's key: `s` sets a value, `d` deletes, `h`
 * sets fields, `r` removes fields; then all fields in one argument, as JSON, then each value.
 *
 * Returns three things: the fence that it leaves; which process this is, or empty; `1` if the open list says `compare`, or
 * `0`. Where the fence is neither the expected one nor the new one, it writes nothing, and returns the fence that it found.
 *
 * It removes an open list, or a rider's hash, of another type, and does not know the rest of what belongs there. So it
 * removes the tag's stamp and fence too: no view is known to be absent, and the leader takes the tag again, to compare it.
 */
export const commitScript = script(`
${foundFence}if found ~= ARGV[1] and found ~= ARGV[2] then return {found, '', '0'} end
local function doubt()
  redis.call('DEL', KEYS[1], KEYS[4])
  ${sayCompare}
  return {'', '', '1'}
end
if isOther(redis.pcall('ZCARD', KEYS[3])) then return doubt() end
-- Else it is a retry of a batch whose reply was lost: it is written already.
if found == ARGV[1] then
  local names = tonumber(ARGV[8])
  if ARGV[4] ~= '' then
    redis.call('SET', KEYS[2], ARGV[4])
    redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', '(' .. ARGV[5])
  end
  if ARGV[6] == 'end' then redis.call('ZREM', KEYS[3], 'compare') end
  if ARGV[6] == 'begin' then
    ${sayCompare}
  end
  for i = 9, 8 + names do redis.call('ZADD', KEYS[3], ARGV[7], ARGV[i]) end
  if names > 0 and redis.call('ZCARD', KEYS[3]) > ${openNamesMax} then
    ${sayCompare}
  end
  local ops, fields, value = ARGV[9 + names], ARGV[10 + names], 10 + names
  local lists, list = cjson.decode(fields), 0
  local isDoubtful = false
  for k = 6, #KEYS do
    local op = string.sub(ops, k - 5, k - 5)
    if op == 's' then
      value = value + 1
      redis.call('SET', KEYS[k], ARGV[value])
    elseif op == 'd' then redis.call('DEL', KEYS[k])
    else
      list = list + 1
      local reply = redis.pcall(op == 'h' and 'HSET' or 'HDEL', KEYS[k], unpack(lists[list]))
      if isOther(reply) then
        redis.call('DEL', KEYS[k])
        isDoubtful = true
      elseif type(reply) == 'table' then return reply end
    end
  end
  if isDoubtful then return doubt() end
  redis.call('SET', KEYS[1], ARGV[2])
end
local process = ''
if ARGV[3] ~= '' then
  process = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')
    .. ':' .. string.match(redis.call('INFO', 'replication'), 'master_replid:(%w+)')
  -- Views that another process held may have been lost on the way.
  if process == ARGV[3] then
    if redis.pcall('GET', KEYS[4]) ~= process then redis.call('SET', KEYS[4], process) end
    -- Whoever stamps has led the tag to the log's ends.
    local owner = string.match(ARGV[2], '^%d+:%d+:(%w+):')
    if redis.pcall('GET', KEYS[5]) ~= owner then redis.call('SET', KEYS[5], owner) end
  end
end
return {ARGV[2], process, redis.call('ZSCORE', KEYS[3], 'compare') and '1' or '0'}
`);

/**
 * KEYS: fence, position, open list, complete, led. ARGV: 1 the fence that was seen, 2 the owner who takes it, 3 `1` if the tag
 * is doubtful, 4 the last epoch that the owner led the tag in. Returns the fence that it leaves, the position and the
 * names of the open list. Where the fence is not the one that was seen, it returns only the fence that it found.
 *
 * Names written before count as of round 0: the first round of this leader includes them. An owner never uses an epoch
 * twice, even if the store was restored to an earlier state and its clock went back. Otherwise a later restore could bring
 * back fences of the earlier term, which would pass for this one's.
 */
export const takeScript = script(`
${foundFence}local fence = found
if found == ARGV[1] then
  local time = redis.call('TIME')
  local last = math.max(tonumber(string.match(found, '^%d+')) or 0, tonumber(ARGV[4]))
  local epoch = math.max(time[1] * 1000 + math.floor(time[2] / 1000), last + 1)
  local names = redis.pcall('ZCARD', KEYS[3])
  local isLost = isOther(names)
  if type(names) == 'table' and not isLost then return names end
  local compare = ARGV[3] == '1' or isLost or redis.call('ZSCORE', KEYS[3], 'compare')
  if compare then
    ${sayCompare}
  elseif names > 0 then
    redis.call('ZUNIONSTORE', KEYS[3], 1, KEYS[3], 'WEIGHTS', 0)
  end
  if ARGV[3] == '1' then redis.call('DEL', KEYS[4]) end
  redis.call('DEL', KEYS[5])
  fence = string.format('%.0f', epoch) .. ':0:' .. ARGV[2] .. ':led'
  redis.call('SET', KEYS[1], fence)
-- A retry whose reply was lost finds the tag taken already.
elseif not string.find(found, ':0:' .. ARGV[2] .. ':led', 1, true)
  or tonumber(string.match(found, '^%d+')) <= tonumber(ARGV[4]) then
  return found
end
-- GET is allowed: the fence was read by it.
local position = redis.pcall('GET', KEYS[2]) or ''
if isOther(position) then position = '' end
return {fence, position, redis.call('ZRANGE', KEYS[3], 0, -1)}
`);

/** KEYS: fence. ARGV: the expected fence, the same one free. */
export const freeScript = script(`
if redis.pcall('GET', KEYS[1]) == ARGV[1] then redis.call('SET', KEYS[1], ARGV[2]) end
`);
