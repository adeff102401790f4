// Redis runs each script atomically. Times are Redis's own clock, in milliseconds.

const now = `local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)`;

/** The scripts, by the names that they have as methods of a client. */
export const authScripts = {
  /** KEYS entry, grant index, account index, accounts. ARGV payload, life, grant, account, member. */
  authPut: {
    numberOfKeys: 4,
    lua: `${now}
local ends = now + ARGV[2]
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'p', ARGV[1], 'g', ARGV[3], 'a', ARGV[4])
redis.call('PEXPIREAT', KEYS[1], ends)
local function index(key, member)
  redis.call('ZREMRANGEBYSCORE', key, '-inf', now)
  redis.call('ZADD', key, 'GT', ends, member)
  local last = redis.call('ZRANGE', key, -1, -1, 'WITHSCORES')
  redis.call('PEXPIREAT', key, last[2])
end
if ARGV[3] ~= '' then index(KEYS[2], ARGV[5]) end
if ARGV[4] ~= '' then
  index(KEYS[3], ARGV[5])
  index(KEYS[4], ARGV[4])
end
return 1`,
  },

  /** KEYS entry. */
  authTake: {
    numberOfKeys: 1,
    lua: `local fields = redis.call('HGETALL', KEYS[1])
redis.call('DEL', KEYS[1])
return fields`,
  },

  /**
   * KEYS entries. ARGV for each entry the expected state and the new one: '-' is none, and a new state of none removes
   * the entry; '=x' is x.
   */
  authSwap: {
    lua: `for i, key in ipairs(KEYS) do
  if redis.call('EXISTS', key) == 0 then return 0 end
  local is = redis.call('HGET', key, 's')
  if (is and '=' .. is or '-') ~= ARGV[2 * i - 1] then return 0 end
end
for i, key in ipairs(KEYS) do
  local to = ARGV[2 * i]
  if to == '-' then redis.call('DEL', key) else redis.call('HSET', key, 's', string.sub(to, 2)) end
end
return 1`,
  },

  /** KEYS entry. ARGV life. Only entries without grant and account are extended, so no index needs an update. */
  authExtend: {
    numberOfKeys: 1,
    lua: `return redis.call('PEXPIRE', KEYS[1], ARGV[1])`,
  },

  /** KEYS account index, accounts. ARGV account, prefix of entries' keys, which share the index's hash tag. */
  authTidyAccount: {
    numberOfKeys: 2,
    lua: `local left = 0
for _, member in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
  if redis.call('HGET', ARGV[2] .. member, 'a') == ARGV[1] then
    left = left + 1
  else
    redis.call('ZREM', KEYS[1], member)
  end
end
if left == 0 then redis.call('ZREM', KEYS[2], ARGV[1]) end
return left`,
  },

  /** KEYS grant index. ARGV prefix of entries' keys, which share the index's hash tag. */
  authRemoveGrant: {
    numberOfKeys: 1,
    lua: `for _, member in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
  redis.call('DEL', ARGV[1] .. member)
end
return redis.call('DEL', KEYS[1])`,
  },

  /**
   * KEYS counter: a hash of what was added, by step of time. ARGV what to add, for how many milliseconds it counts, the
   * number of steps in that time, the most or ''. Returns the value and the wait.
   */
  authCount: {
    numberOfKeys: 1,
    lua: `${now}
local step = ARGV[2] / ARGV[3]
local this = math.floor(now / step)
local add = tonumber(ARGV[1])
local most = tonumber(ARGV[4]) or math.huge
local sum, steps = 0, {}
local fields = redis.call('HGETALL', KEYS[1])
for i = 1, #fields, 2 do
  local at, added = tonumber(fields[i]), tonumber(fields[i + 1])
  if this - at > tonumber(ARGV[3]) then
    redis.call('HDEL', KEYS[1], fields[i])
  else
    sum = sum + added
    table.insert(steps, { at, added })
  end
end
local left = sum + math.max(add, 1)
if left > most then
  table.sort(steps, function(a, b) return a[1] < b[1] end)
  local free = now + ARGV[2]
  for _, each in ipairs(steps) do
    free = (each[1] + ARGV[3] + 1) * step
    left = left - each[2]
    if left <= most then break end
  end
  return { sum + add, math.max(1, math.ceil(free - now)) }
end
if add > 0 then
  redis.call('HINCRBY', KEYS[1], string.format('%d', this), add)
  redis.call('PEXPIRE', KEYS[1], math.ceil(ARGV[2] + step))
end
return { sum + add, 0 }`,
  },

  /** KEYS erasures. ARGV life, then when and who each. */
  authNoteErasures: {
    numberOfKeys: 1,
    lua: `${now}
for i = 2, #ARGV, 2 do redis.call('ZADD', KEYS[1], 'GT', ARGV[i], ARGV[i + 1]) end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[1])
return redis.call('PEXPIRE', KEYS[1], ARGV[1])`,
  },
};
