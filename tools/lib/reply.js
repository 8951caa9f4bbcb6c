// The one-envelope habit. Every tool answers its agent with one of three shapes, so one paragraph in the agent's prompt
// explains them all:
//
//   { ok: true, … }                                    use the data, do not call the tool again
//   { ok: false, retryable: true, error, correction }  the call was wrong: do what `correction` says, try once more
//   { ok: false, retryable: false, error }             the source is down: tell the user, and stop

import Agent from 'system/agent';
import { HttpError } from 'system/http';
import Log from 'system/log';
import Tools from 'system/tools';

export const ok = (data) => ({ ok: true, ...data });
export const correctable = (error, correction) => ({ ok: false, retryable: true, error, correction });
export const unavailable = (service) => ({ ok: false, retryable: false, error: `${service} unavailable.` });

export const isText = (value) => typeof value === 'string' && value.trim() !== '';

// `input` is an object when the call was checked against the tool's input schema, and the raw text of !*context when there
// was no schema to check it against. A model that forgets the JSON and writes `Sofia` means {"city":"Sofia"}: `field` says so.
export const readInput = (input, field) => {
    if (typeof input !== 'string') return input ?? {};
    try {
        const value = JSON.parse(input);
        if (value !== null && typeof value === 'object') return value;
        return { [field]: String(value) };
    } catch {
        return { [field]: input }; // Not JSON, so plain words. Whether they make sense is the tool's question.
    }
};

// HTTP 200 does not mean valid data. A status of 400 or 500 and a body that is not JSON give ok = false; this also catches
// the services that answer 200 with { error: true } or { success: false }.
export const isUsable = (response) => {
    const body = response.ok ? response.body : null;
    return typeof body === 'object' && body !== null && !body.error && body.success !== false;
};

// A request that gets no answer at all (no connection, time-out, a host that is not allowed, a response that is too large)
// throws an HttpError. The agent must hear of that too, or it would wait for a message that never comes. Any other error is
// a bug in the tool: let it fail the run, so that nothing is written and the author sees the line.
export const orUnavailable = async (service, ask) => {
    try {
        return await ask();
    } catch (error) {
        if (!(error instanceof HttpError)) throw error;
        Log.error(`${service}: request failed`, { code: error.code });
        return unavailable(service);
    }
};

// The answer travels through the conversation. What exec returns is never shown to the model: it only says that the script
// ended cleanly, and a message is delivered only then.
export const reply = (tag, envelope) => {
    // JSON may spell < as \u003c: so no text that came from outside can close the tag early, or look like a <SYSTEM CALL>.
    const json = JSON.stringify(envelope).replaceAll('<', '\\u003c');
    Agent.setRootAgentPrompt(toolOptions.toolContext.agentId, {
        prompt: `<${tag}>\n${json}\n</${tag}>`,
        // The caller's session: read as sessionId, written as sessionID. The bare flowContext.sessionId is the tool's own
        // session, in which the agent does not look.
        sessionID: toolOptions.agentNode.flowContext.sessionId,
        requestID: Tools.generateUUID(), // A fresh one each time: a reused id is the same message again.
    });
    Log.info(`${tag}: ${envelope.ok ? 'ok' : envelope.error}`);
    return { done: true };
};
