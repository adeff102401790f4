import { createHash } from 'node:crypto';
import type { TagLook } from '../../../projector/ports/view-writer.ts';
import { script } from './view-scripts.ts';

/**
 * The scripts that work on many tags at once, on one Redis alone: the slots of a cluster allow no call for several. They are
 * given the notes' keys of one tag, and spell those of the others.
 */
const spelling = `
local function spelled(key, tags)
  local head, tail = string.match(key, '^(.*{v)%d+(}.*)$')
  local names = {}
  for tag in string.gmatch(tags, '%d+') do names[#names + 1] = head .. tag .. tail end
  return names
end
local function texts(key, tags)
  local found = redis.call('MGET', unpack(spelled(key, tags)))
  for i = 1, #found do found[i] = found[i] or '' end
  return found
end
local function digest(list, first)
  return redis.sha1hex(table.concat(list, '\\n', first))
end
`;

/**
 * KEYS: fence, position, open list, complete and led of the first tag, asked. ARGV: 1 the first tag's expected fence, 2 its new
 * one, 3 the process whose views are complete (`?`: none), 4 the tags, 5 the digest of all their other fences, 6 the position to
 * store, or empty, 7 the round that began there, 8 the tags whose open lists may have names.
 *
 * Returns the fence that it leaves, which process this is, and what is asked; where a fence is not the expected one, all
 * fences, and writes nothing.
 *
 * Of the others' fences none moves: it writes no view. What it writes is as good in a store that is restored to a moment
 * before it: an older position with the longer list that belongs to it, and the stamp of another process.
 */
export const beatScript = script(`${spelling}
local fences = texts(KEYS[1], ARGV[4])
if (fences[1] ~= ARGV[1] and fences[1] ~= ARGV[2]) or digest(fences, 2) ~= ARGV[5] then return {fences} end
-- Else it is a retry of a beat whose reply was lost.
if fences[1] == ARGV[1] then
  if ARGV[6] ~= '' then
    local positions = {}
    for _, name in ipairs(spelled(KEYS[2], ARGV[4])) do
      positions[#positions + 1] = name
      positions[#positions + 1] = ARGV[6]
    end
    redis.call('MSET', unpack(positions))
    local isLost = false
    for tag in string.gmatch(ARGV[8], '%d+') do
      local open = spelled(KEYS[3], tag)[1]
      local reply = redis.pcall('ZREMRANGEBYSCORE', open, '-inf', '(' .. ARGV[7])
      if type(reply) == 'table' then
        if not string.find(reply.err, 'WRONGTYPE', 1, true) then return reply end
        -- As commitScript does.
        redis.call('DEL', spelled(KEYS[1], tag)[1], spelled(KEYS[4], tag)[1], open)
        redis.call('ZADD', open, '+inf', 'compare')
        isLost = true
      end
    end
    if isLost then return {texts(KEYS[1], ARGV[4])} end
  end
  redis.call('SET', KEYS[1], ARGV[2])
end
local process = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')
  .. ':' .. string.match(redis.call('INFO', 'replication'), 'master_replid:(%w+)')
if process == ARGV[3] then
  local stamps = {}
  local function say(key, text)
    local names, found = spelled(key, ARGV[4]), texts(key, ARGV[4])
    for i = 1, #names do
      if found[i] ~= text then
        stamps[#stamps + 1] = names[i]
        stamps[#stamps + 1] = text
      end
    end
  end
  say(KEYS[4], process)
  say(KEYS[5], string.match(ARGV[2], '^%d+:%d+:(%w+):'))
  if #stamps > 0 then redis.call('MSET', unpack(stamps)) end
end
return {ARGV[2], process, redis.call('MGET', KEYS[6])[1] or ''}
`);

/**
 * KEYS: fence and position of a tag. ARGV: 1 the tags, 2 the digest of all their fences but the first, as the caller knows them, 3
 * that of their positions. Returns the first fence, all others unless they are as known, and the positions, unless they are: each
 * text once, and for each tag the place of its own among them.
 */
export const lookScript = script(`${spelling}
local fences, positions = texts(KEYS[1], ARGV[1]), texts(KEYS[2], ARGV[1])
local distinct, places, placeOf = {}, {}, {}
for i, text in ipairs(positions) do
  if not placeOf[text] then
    distinct[#distinct + 1] = text
    placeOf[text] = #distinct
  end
  places[i] = placeOf[text]
end
local first, others = fences[1], {}
if digest(fences, 2) ~= ARGV[2] then
  for i = 2, #fences do others[i - 1] = fences[i] end
end
if redis.sha1hex(table.concat(distinct, '\\n') .. table.concat(places, ',')) == ARGV[3] then distinct, places = {}, {} end
return {first, others, distinct, places}
`);

const sha1 = (text: string): string => createHash('sha1').update(text).digest('hex');

/** Of fences, as the scripts take it. */
export const digestOf = (fences: readonly string[]): string => sha1(fences.join('\n'));

/** What a look at some tags found. */
interface Found {
  tags: string;
  others: readonly string[];
  /** Each position once, and for each tag the place of its own. */
  texts: readonly string[];
  places: readonly number[];
}

type LookReply = [first: Buffer, others: Buffer[], texts: Buffer[], places: number[]];

/** Looks at tags of which only what has changed since the last look is told. */
export class ConditionalLook {
  #last: Found | null = null;

  /** `ask`: runs lookScript with these arguments. */
  async at(tags: readonly number[], ask: (args: string[]) => Promise<unknown>): Promise<TagLook[]> {
    const names = tags.join();
    // Several looks may be under way: each is told what has changed since what it named.
    const known = this.#last?.tags === names ? this.#last : null;
    const digests = known && [digestOf(known.others), sha1(known.texts.join('\n') + known.places.join())];
    const [first, others, texts, places] = (await ask([names, ...(digests ?? ['', ''])])) as LookReply;
    const isSame = known !== null && others.length === 0;
    const stands = known !== null && texts.length === 0;
    const found: Found = {
      tags: names,
      others: isSame ? known.others : others.map(String),
      texts: stands ? known.texts : texts.map(String),
      places: stands ? known.places : places,
    };
    this.#last = found;
    const fences = [String(first), ...found.others];
    return fences.map((fence, i) => ({ fence, position: found.texts[found.places[i]! - 1] || null }));
  }
}
