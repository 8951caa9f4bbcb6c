// system/agent: the conversation. Writes are staged and cost no round trip; reads are ops. The host's twin is ops/agent.py.

import { freeze, write } from 'keelbox:host';
import { JSON_BODY, coded, perform, traceHere } from '../op.js';
import { Error, NumberIsInteger, ObjectKeys, TypeError, isObject, ownValue, protectPromise } from '../web/primordials.js';

const WRITE_REFUSALS = [
  null,
  ['ended', 'exec has returned: a message can no longer be written'],
  ['too-many-writes', 'this run has written as many messages as it may (writes_count)'],
  ['message-too-large', 'the message is larger than one message may be (message_mib)'],
  ['staged-too-large', "this run's messages together are larger than they may be (staged_mib)"],
];
const newError = (message) => new Error(message);

const near = { __proto__: null, sessionId: 'sessionID', sessionid: 'sessionID', requestId: 'requestID', requestid: 'requestID',
  content: 'prompt', message: 'prompt', text: 'prompt' };

const checkFields = (fields, known, what) => {
  if (!isObject(fields)) throw new TypeError(`${what}: the second argument must be an object`);
  const keys = ObjectKeys(fields);
  for (let i = 0; i < keys.length; i++) {
    let found = false;
    for (let j = 0; j < known.length; j++) found ||= known[j] === keys[i];
    if (found) continue;
    const meant = near[keys[i]];
    throw new TypeError(meant === undefined
      ? `${what}: unknown field '${keys[i]}'`
      : `${what}: unknown field '${keys[i]}': write it ${meant}`);
  }
};

const text = (fields, name, what) => {
  const value = ownValue(fields, name);
  if (typeof value !== 'string' || value === '') {
    throw new TypeError(`${what}: ${name} must be a text that is not empty, got ${value === '' ? 'an empty text' : typeof value}`);
  }
  return value;
};

const ID_CHARACTERS = 256; // as much as the store's keys want

const identifier = (fields, name, what) => {
  const value = text(fields, name, what);
  if (value.length > ID_CHARACTERS) throw new TypeError(`${what}: ${name} is longer than ${ID_CHARACTERS} characters`);
  return value;
};

const agentName = (agentId, what) => identifier({ __proto__: null, agentId }, 'agentId', what);

const WRITE_FIELDS = ['prompt', 'sessionID', 'requestID'];

/** Stages one user-role message; it is written when exec returns cleanly. */
export const setRootAgentPrompt = (agentId, fields) => {
  const what = 'setRootAgentPrompt';
  agentName(agentId, what);
  checkFields(fields, WRITE_FIELDS, what);
  const refusal = write(
    agentId, identifier(fields, 'sessionID', what), identifier(fields, 'requestID', what), text(fields, 'prompt', what));
  if (refusal !== 0) throw coded(new Error(WRITE_REFUSALS[refusal][1]), WRITE_REFUSALS[refusal][0]);
};

const read = async (which, agentId, fields, known, trace) => {
  const what = which === 'messages' ? 'getMessages' : 'getLastReply';
  agentName(agentId, what);
  checkFields(fields, known, what);
  const last = ownValue(fields, 'last');
  if (last !== undefined && (!NumberIsInteger(last) || last < 1 || last > 1000)) {
    throw new TypeError(`${what}: last must be an integer from 1 to 1000`);
  }
  const head = { __proto__: null, read: which, agentId, sessionID: identifier(fields, 'sessionID', what), last: last ?? null };
  const shown = { __proto__: null, method: 'READ', url: `agent:${agentId}/${which}` };
  return (await protectPromise(perform('agent', JSON_BODY, head, undefined, trace, newError, shown))).body;
};

export const getMessages = (agentId, fields) =>
  protectPromise(read('messages', agentId, fields, ['sessionID', 'last'], traceHere(getMessages)));
export const getLastReply = (agentId, fields) =>
  protectPromise(read('last-reply', agentId, fields, ['sessionID'], traceHere(getLastReply)));

export default freeze({ setRootAgentPrompt, getMessages, getLastReply });
