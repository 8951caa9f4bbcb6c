// What a Keelbox script sees: the modules `system/*`, the globals of one run, and the web basics.
//
// For checking and completion in an editor, copy this file beside your tools, with this jsconfig.json (there is no
// DOM and no Node in the sandbox, so their types must stay out):
//
//     { "compilerOptions": { "checkJs": true, "module": "esnext", "target": "esnext", "lib": ["esnext"], "types": [] },
//       "include": ["**/*.js", "system.d.ts"] }
//
// Sizes and counts named here are defaults; `keelbox limits TOOL` shows what holds for a tool.

/**
 * A tool's entry point, exported as `exec` from its entry module. (Not async: `SyncExec`.)
 *
 * The returned value ends the run; it is not shown to the agent (unless the tool is declared `answers: return`). It
 * must be plain JSON data of at most 1 MiB: no functions, class instances, BigInt, NaN or cycles. Conversation writes
 * happen only if `exec` returns cleanly: with such a value, with no request still open, and no rejected promise left
 * unhandled.
 *
 * @example
 * /** @type {Exec<{ city: string }>} *\/
 * export const exec = async (input, ambient, ctx) => {
 *   const answer = await Http.getJson('https://api.example.com/weather', { query: { city: input.city } });
 *   Agent.setRootAgentPrompt(toolOptions.toolContext.agentId, {
 *     prompt: JSON.stringify(answer.ok ? answer.body : { ok: false, error: 'Weather service unavailable.' }),
 *     sessionID: toolOptions.agentNode.flowContext.sessionId,
 *     requestID: Tools.generateUUID(),
 *   });
 *   return { done: true };
 * };
 */
type Exec<Input = any, Result = unknown> = (input: Input, ambient: Ambient, ctx: ExecContext) => Promise<Result>;

/** As `Exec`, for a tool that awaits nothing. */
type SyncExec<Input = any, Result = unknown> = (input: Input, ambient: Ambient, ctx: ExecContext) => Result;

/** On whose behalf the tool runs, as the platform knows it; the model cannot change it. Frozen. */
interface Ambient {
  readonly userId?: string;
  readonly threadId?: string;
  readonly scope?: Readonly<Record<string, any>>;
  readonly [name: string]: unknown;
}

interface ExecContext {
  /**
   * Tells whoever watches the run how far it is. `data` is plain JSON data of at most 4 KiB as text. A tool with
   * `duration: long` must call it (or make a request) more often than its `max_silence_s`. Between two requests the first
   * 200 calls are passed on.
   *
   * @example ctx.progress({ step: 'page', done: 3, of: 10 });
   */
  progress(data: unknown): void;
  /**
   * For code that takes a signal. The host does not abort it yet: a run that is cancelled is cut at once.
   *
   * @example while (!ctx.signal.aborted && next) next = await page(next);
   */
  readonly signal: AbortSignal;
}

/** How the tool was called. Frozen. */
interface ToolOptions {
  readonly toolContext: {
    /** The agent that called the tool: the first argument of `setRootAgentPrompt` for the answer. */
    readonly agentId: string;
    /** The fields of the call: `!*name` of the SYSTEM CALL block, without the mark. */
    readonly options: {
      readonly action: string;
      readonly tool: string;
      /** The free-text input, often JSON as the model wrote it. `input` is the checked form of it. */
      readonly context: string;
      readonly [field: string]: any;
    };
  };
  /** The caller's side. In a flow, only the first node has it: keep what you need in `dictionary`. */
  readonly agentNode: {
    /** `sessionId` is the *caller's* session: the answer's `sessionID`. */
    readonly flowContext: { readonly sessionId: string };
  };
}

/**
 * How the tool was called.
 *
 * @example const { agentId, options } = toolOptions.toolContext;
 */
declare const toolOptions: ToolOptions;

/**
 * The tool's *own* session, not the caller's: for seeding an agent inside a flow tool. An answer that is stamped with
 * it stays invisible to the caller.
 */
declare const flowContext: { readonly sessionId: string };

/**
 * Data shared by the nodes of one flow run; empty, and gone with the run, for a script tool. Plain JSON data of at most
 * 1.5 MiB, written back on a clean return only, gone 60 s after the last write. Change its fields; the name itself
 * cannot be assigned.
 *
 * @example dictionary.bridge = { mainAgentId: toolOptions.toolContext.agentId };
 */
declare const dictionary: Record<string, any>;

/**
 * As `dictionary`, but shared by all runs of one session. Of two runs that changed it at the same time, the later one
 * fails with `session-conflict`.
 *
 * @example session.calls = (session.calls ?? 0) + 1;
 */
declare const session: Record<string, any>;

/**
 * HTTP requests, one at a time: request and response share one exchange buffer of 10 MiB. `await` each call before the
 * next (never `Promise.all`): a second one fails with `buffer-busy`. At most 100 requests in a run.
 *
 * Only hosts that the tool's declaration lists can be reached, over https (http only on loopback, in a local test); up to three redirects are followed,
 * each under the same rules. A bad status does not throw, so check `ok`; what has no answer throws `HttpError`.
 */
declare module 'system/http' {
  /** Why a request has no usable answer. */
  export type HttpErrorCode =
    /** The host, address, port, scheme or method is not allowed for this tool. Nothing was sent. */
    | 'denied'
    /** The URL, the method, a header or the body is malformed. Nothing was sent. */
    | 'request-invalid'
    /** The host's name has no address. Nothing was sent. */
    | 'dns-failed'
    /** Nobody answered at the host's address. Nothing was sent. */
    | 'connect-failed'
    /** The host's certificate or encryption is not acceptable. Nothing was sent. */
    | 'tls-failed'
    /** The connection broke, or what came back is not HTTP. */
    | 'protocol-error'
    /** `timeoutMs`, or the rest of the run's time, ran out before the answer was complete. */
    | 'timeout'
    /** The body is larger than the exchange buffer (10 MiB), or URL and headers than 128 KiB. Nothing was sent. */
    | 'request-too-large'
    /** The response is larger than the exchange buffer (10 MiB): ask for less, by `limit`, `per_page` or pages. */
    | 'response-too-large'
    /** The run has made as many requests as it may (100), or its tool within this minute. Nothing was sent. */
    | 'too-many-requests'
    /** More than three redirects. */
    | 'too-many-redirects'
    /** Another request of this run is in flight: `await` one call before the next. Nothing was sent. */
    | 'buffer-busy'
    /** `exec` has returned already. Nothing was sent. */
    | 'ended';

  /**
   * A request that has no usable answer.
   *
   * @example
   * try { page = await Http.get(url); }
   * catch (error) { if (error instanceof HttpError && error.code === 'timeout') return retryLater(); throw error; }
   */
  export class HttpError extends Error {
    readonly name: 'HttpError';
    readonly code: HttpErrorCode;
    private constructor();
  }

  type QueryValue = string | number | boolean | bigint | null | undefined;

  export interface HttpOptions {
    /** A value of null or undefined leaves the header out. `Host`, `Cookie` and the like are refused. */
    headers?: Record<string, string | number | boolean | null | undefined>;
    /** Added to the URL, encoded. A list repeats its name; null and undefined are left out. */
    query?: Record<string, QueryValue | readonly QueryValue[]>;
    /** Milliseconds from now until the answer must be complete. Default and maximum: what is left of the run's time. */
    timeoutMs?: number;
  }

  /**
   * What can be sent: a string (`text/plain;charset=UTF-8`), bytes (`application/octet-stream`), or a plain JSON value,
   * sent as JSON (`application/json`). null or nothing sends no body. A `content-type` of yours goes before these.
   */
  export type HttpBody = string | Uint8Array | ArrayBuffer | DataView | object | number | boolean | null;

  export interface HttpRequest extends HttpOptions {
    url: string | URL;
    /** GET if it is left out; also HEAD, OPTIONS, POST, PUT, PATCH, DELETE. */
    method?: string;
    /** Text or bytes to send. Not together with `json`. */
    body?: string | Uint8Array | ArrayBuffer | DataView | null;
    /** A plain JSON value to send. Not together with `body`. */
    json?: unknown;
  }

  interface HttpAnswer {
    /** Whether the status is 200 to 299. That the data is what you expect is another question: check its shape too. */
    readonly ok: boolean;
    readonly status: number;
    /** Names in lower case; a header that came more than once is one text, joined by ", ". */
    readonly headers: Record<string, string>;
    /** Where the answer came from: differs from the request's URL after a redirect. */
    readonly url: string;
  }

  export interface TextResponse extends HttpAnswer {
    /** The body as text, read as UTF-8; "" if there was none. */
    readonly body: string;
  }

  export interface BytesResponse extends HttpAnswer {
    readonly body: Uint8Array;
  }

  export interface JsonResponse<T = any> extends HttpAnswer {
    /** Also false if the body is not JSON, whatever the status. */
    readonly ok: boolean;
    /** The parsed body, with a bad status too; null if it is not JSON. */
    readonly body: T | null;
    /** Only if the body is not JSON: how it begins, at most 1,000 bytes. */
    readonly text?: string;
    readonly error?: 'not-json';
  }

  /**
   * GET, the body as text. All calls of this module throw `HttpError` for what has no answer, and TypeError for
   * arguments that make no sense (an unknown option, a body for GET).
   *
   * @example const page = await Http.get('https://example.com/', { timeoutMs: 5000 });
   */
  export function get(url: string | URL, options?: HttpOptions): Promise<TextResponse>;

  /**
   * HEAD: status and headers; the body is "".
   *
   * @example const { headers } = await Http.head(url);
   */
  export function head(url: string | URL, options?: HttpOptions): Promise<TextResponse>;

  /**
   * POST. Counts as having an effect: if the run fails after it was sent, its certificate says `sent` or `unknown`. A
   * tool that is declared `side_effect: read` may not use it, unless the declaration lists the address under
   * `safe_posts`.
   *
   * @example const made = await Http.post('https://api.example.com/notes', { text: 'hello' });
   */
  export function post(url: string | URL, body?: HttpBody, options?: HttpOptions): Promise<TextResponse>;

  /**
   * PUT. Counts as having an effect, as `post`.
   *
   * @example await Http.put(noteUrl, '# Title', { headers: { 'content-type': 'text/markdown' } });
   */
  export function put(url: string | URL, body?: HttpBody, options?: HttpOptions): Promise<TextResponse>;

  /**
   * PATCH. Counts as having an effect, as `post`.
   *
   * @example await Http.patch('https://api.example.com/notes/1', { done: true });
   */
  export function patch(url: string | URL, body?: HttpBody, options?: HttpOptions): Promise<TextResponse>;

  /**
   * DELETE (which is no name for a function). Counts as having an effect, as `post`.
   *
   * @example await Http.del('https://api.example.com/notes/1');
   */
  export function del(url: string | URL, options?: HttpOptions): Promise<TextResponse>;

  /**
   * Any method, everything in one object; the body as text.
   *
   * @example await Http.request({ method: 'OPTIONS', url: 'https://api.example.com/notes' });
   */
  export function request(request: HttpRequest): Promise<TextResponse>;

  /**
   * GET, the body parsed as JSON. A body that is not JSON does not throw: `ok` is false and `error` is "not-json".
   *
   * @example
   * const answer = await Http.getJson('https://api.example.com/search', { query: { q: 'Dune', limit: 3 } });
   * const hits = answer.ok && Array.isArray(answer.body.results) ? answer.body.results : [];
   */
  export function getJson<T = any>(url: string | URL, options?: HttpOptions): Promise<JsonResponse<T>>;

  /**
   * POST of a JSON value, the answer parsed as by `getJson`. Counts as having an effect, as `post`.
   *
   * @example const answer = await Http.postJson('https://api.example.com/query', { filter: 'open' });
   */
  export function postJson<T = any>(
    url: string | URL,
    json: unknown,
    options?: HttpOptions,
  ): Promise<JsonResponse<T>>;

  /**
   * GET, the body as text: `get` under another name.
   *
   * @example const { ok, body } = await Http.getText('https://example.com/robots.txt');
   */
  export function getText(url: string | URL, options?: HttpOptions): Promise<TextResponse>;

  /**
   * GET, the body as bytes.
   *
   * @example const { body } = await Http.getBytes('https://example.com/logo.png');
   */
  export function getBytes(url: string | URL, options?: HttpOptions): Promise<BytesResponse>;

  interface Http {
    readonly get: typeof get;
    readonly head: typeof head;
    readonly post: typeof post;
    readonly put: typeof put;
    readonly patch: typeof patch;
    readonly del: typeof del;
    readonly request: typeof request;
    readonly getJson: typeof getJson;
    readonly postJson: typeof postJson;
    readonly getText: typeof getText;
    readonly getBytes: typeof getBytes;
    readonly HttpError: typeof HttpError;
  }
  const http: Http;
  export default http;
}

/** The conversation: how a tool answers, and what it may read of it. */
declare module 'system/agent' {
  /** One message as the conversation holds it. */
  export interface AgentMessage {
    /** null while it is only staged. */
    readonly id: string | null;
    readonly role: 'user' | 'assistant';
    readonly content: string;
    readonly requestID: string;
    /** When it was written, in UTC: "2026-01-31T12:00:00.000000Z". null while it is only staged. */
    readonly createdAt: string | null;
    /** True for what this run has pushed itself and what is not written yet. */
    readonly staged: boolean;
  }

  /** The codes of the errors that this module throws; they are `Error`s with a `code`. */
  export type AgentErrorCode =
    | 'too-many-writes'
    | 'message-too-large'
    | 'staged-too-large'
    | 'denied'
    | 'request-invalid'
    | 'response-too-large'
    | 'too-many-requests'
    | 'buffer-busy'
    | 'ended';

  export interface Prompt {
    /** The text, at most 8 MiB in UTF-8; not empty. */
    prompt: string;
    /** The session of the agent that is to see it: `toolOptions.agentNode.flowContext.sessionId` for the caller. */
    sessionID: string;
    /** A fresh `Tools.generateUUID()` for each message: a used one is the same message again. */
    requestID: string;
  }

  /**
   * Pushes a user-role message to an agent: this is how a tool answers. It is staged, and written when `exec` returns
   * cleanly; if the run fails in any way, nothing is written.
   *
   * Throws a TypeError that names a field which is missing or misspelt (`sessionId`: "write it sessionID"), and an
   * Error with the code `too-many-writes` (20 in a run), `message-too-large` (8 MiB) or `staged-too-large` (16 MiB
   * together).
   *
   * @example
   * Agent.setRootAgentPrompt(toolOptions.toolContext.agentId, {
   *   prompt: '<TOOL_RESULT>\n' + JSON.stringify({ ok: true }) + '\n</TOOL_RESULT>',
   *   sessionID: toolOptions.agentNode.flowContext.sessionId,
   *   requestID: Tools.generateUUID(),
   * });
   */
  export function setRootAgentPrompt(agentId: string, message: Prompt): void;

  /**
   * The last messages of an agent in a session, the oldest first; what this run has staged comes last. 50 unless `last`
   * says how many (1 to 1000). A run reads only its caller in the caller's session, and its own session; else `denied`.
   * Uses the exchange buffer, as a request does: await it, and ask for fewer if it throws `response-too-large`.
   *
   * @example const history = await Agent.getMessages(agentId, { sessionID, last: 10 });
   */
  export function getMessages(agentId: string, query: { sessionID: string; last?: number }): Promise<AgentMessage[]>;

  /**
   * The newest message of the agent itself (role `assistant`) in a session, null if it has not said anything. Otherwise
   * as `getMessages`.
   *
   * @example const reply = await Agent.getLastReply('inner-agent', { sessionID: flowContext.sessionId });
   */
  export function getLastReply(agentId: string, query: { sessionID: string }): Promise<AgentMessage | null>;

  interface Agent {
    readonly setRootAgentPrompt: typeof setRootAgentPrompt;
    readonly getMessages: typeof getMessages;
    readonly getLastReply: typeof getLastReply;
  }
  const agent: Agent;
  export default agent;
}

/**
 * Log lines: your only window into a tool in production. They are kept also when the run fails or is cut. At most 1,000
 * lines and 256 KiB in a run; what is beyond is dropped, and one line says how many. Logging never throws.
 */
declare module 'system/log' {
  /**
   * Something that must be looked at. Values are joined by a space: strings as they are, others as JSON, errors with
   * stack.
   *
   * @example Log.error('payment refused', { status: answer.status });
   */
  export function error(...values: unknown[]): void;

  /**
   * Something unexpected that the tool got over.
   *
   * @example Log.warning('no results field', answer.body);
   */
  export function warning(...values: unknown[]): void;

  /**
   * Which way the tool went: each branch, each request with its status.
   *
   * @example Log.info('search', { status: answer.status, hits: hits.length });
   */
  export function info(...values: unknown[]): void;

  /**
   * Detail for the author.
   *
   * @example Log.debug('query', query);
   */
  export function debug(...values: unknown[]): void;

  interface Log {
    readonly error: typeof error;
    readonly warning: typeof warning;
    readonly info: typeof info;
    readonly debug: typeof debug;
  }
  const log: Log;
  export default log;
}

declare module 'system/tools' {
  /**
   * A fresh random UUID (version 4). There is no other crypto in the sandbox.
   *
   * @example const requestID = Tools.generateUUID();
   */
  export function generateUUID(): string;

  /**
   * Throw it to say: the tool did nothing, and a retry is safe. The run ends as `refused`. Any error whose `name` is
   * "ToolRefusedError" says the same.
   *
   * @example if (!input.city) throw new ToolRefusedError('no city given');
   */
  export class ToolRefusedError extends Error {
    readonly name: 'ToolRefusedError';
  }

  interface Tools {
    readonly generateUUID: typeof generateUUID;
    readonly ToolRefusedError: typeof ToolRefusedError;
  }
  const tools: Tools;
  export default tools;
}

// The web basics: only what has no reach outside. There are no timers, no fetch, no console, no crypto.

/**
 * A URL as browsers parse it. A host that is not ASCII stays Unicode in lower case (no "xn--"): the platform converts
 * it when the request is made. Throws TypeError for what is no URL.
 *
 * @example const url = new URL('../v2/search?q=1', 'https://api.example.com/v1/');
 */
declare class URL {
  constructor(url: string | URL, base?: string | URL);
  /** Whether `new URL(url, base)` would succeed. */
  static canParse(url: string | URL, base?: string | URL): boolean;
  /** `new URL(url, base)`, null where that would throw. */
  static parse(url: string | URL, base?: string | URL): URL | null;
  href: string;
  readonly origin: string;
  protocol: string;
  username: string;
  password: string;
  host: string;
  hostname: string;
  port: string;
  pathname: string;
  search: string;
  /** Live: changes show in the URL. */
  readonly searchParams: URLSearchParams;
  hash: string;
  toString(): string;
  toJSON(): string;
}

/**
 * The name-value pairs of a query.
 *
 * @example const query = new URLSearchParams({ q: 'a b' }).toString(); // "q=a+b"
 */
declare class URLSearchParams {
  constructor(
    init?: string | URLSearchParams | Record<string, string> | Iterable<readonly [string, string]>,
  );
  readonly size: number;
  append(name: string, value: string): void;
  delete(name: string, value?: string): void;
  get(name: string): string | null;
  getAll(name: string): string[];
  has(name: string, value?: string): boolean;
  set(name: string, value: string): void;
  /** By name, in the order of code units; pairs of one name keep their order. */
  sort(): void;
  forEach<This = undefined>(
    callback: (this: This, value: string, name: string, params: URLSearchParams) => void,
    thisArg?: This,
  ): void;
  entries(): IterableIterator<[string, string]>;
  keys(): IterableIterator<string>;
  values(): IterableIterator<string>;
  [Symbol.iterator](): IterableIterator<[string, string]>;
  toString(): string;
}

/**
 * Text to UTF-8.
 *
 * @example const bytes = new TextEncoder().encode('é'); // 2 bytes
 */
declare class TextEncoder {
  readonly encoding: 'utf-8';
  encode(input?: string): Uint8Array;
  /** Writes as many whole code points as fit. `read` counts code units of `source`, `written` bytes. */
  encodeInto(source: string, destination: Uint8Array): { read: number; written: number };
}

/**
 * Bytes to text. Labels: those of utf-8 (the default), windows-1252 ("latin1", "iso-8859-1", "ascii" …) and utf-16le;
 * another one throws RangeError.
 *
 * @example const text = new TextDecoder('latin1').decode(answer.body);
 */
declare class TextDecoder {
  constructor(label?: string, options?: { fatal?: boolean; ignoreBOM?: boolean });
  readonly encoding: 'utf-8' | 'windows-1252' | 'utf-16le';
  /** Whether bytes that are not text throw TypeError instead of becoming U+FFFD. */
  readonly fatal: boolean;
  readonly ignoreBOM: boolean;
  /** With `stream`, an unfinished character at the end waits for the next chunk. */
  decode(input?: ArrayBuffer | ArrayBufferView, options?: { stream?: boolean }): string;
}

/** Base64 of a string whose characters are bytes (U+0000 to U+00FF); another character throws InvalidCharacterError. */
declare function btoa(data: string): string;

/** The bytes of a base64 text as a string of characters U+0000 to U+00FF. Throws InvalidCharacterError. */
declare function atob(data: string): string;

/**
 * A deep copy; cycles and shared references are kept. Functions, symbols, promises, URLs and the like throw a
 * DOMException named DataCloneError. Buffers in `transfer` are moved: they are empty afterwards.
 *
 * @example const copy = structuredClone(template);
 */
declare function structuredClone<T>(value: T, options?: { transfer?: Iterable<ArrayBuffer> }): T;

/** Runs a function after the code that runs now, before anything else. What it throws fails the run. */
declare function queueMicrotask(callback: () => void): void;

/** The error of the web basics; `name` says what happened: AbortError, DataCloneError, InvalidCharacterError. */
declare class DOMException extends Error {
  constructor(message?: string, name?: string);
  readonly name: string;
  readonly message: string;
  readonly code: number;
}

interface AbortEvent {
  readonly type: 'abort';
  readonly target: AbortSignal;
  readonly currentTarget: AbortSignal;
}

type AbortListener = ((this: AbortSignal, event: AbortEvent) => void) | { handleEvent(event: AbortEvent): void };

/**
 * Tells whether work should stop: `ctx.signal`, or that of an AbortController. There is no `AbortSignal.timeout`: the
 * sandbox has no timers; give requests a `timeoutMs`. What a listener throws fails the run.
 *
 * @example const signal = AbortSignal.any([ctx.signal, controller.signal]);
 */
declare class AbortSignal {
  private constructor();
  /** A signal that is aborted already. */
  static abort(reason?: unknown): AbortSignal;
  /** A signal that is aborted as soon as one of `signals` is. */
  static any(signals: Iterable<AbortSignal>): AbortSignal;
  readonly aborted: boolean;
  /** Why; a DOMException named AbortError unless a reason was given. undefined while not aborted. */
  readonly reason: any;
  throwIfAborted(): void;
  onabort: ((this: AbortSignal, event: AbortEvent) => void) | null;
  addEventListener(
    type: 'abort',
    listener: AbortListener | null,
    options?: boolean | { capture?: boolean; once?: boolean; signal?: AbortSignal },
  ): void;
  removeEventListener(type: 'abort', listener: AbortListener | null, options?: boolean | { capture?: boolean }): void;
}

/**
 * Makes a signal, and aborts it.
 *
 * @example const controller = new AbortController(); controller.abort('enough');
 */
declare class AbortController {
  readonly signal: AbortSignal;
  abort(reason?: unknown): void;
}
