// AbortController and AbortSignal, without timers. A signal has the little of EventTarget that "abort" needs.
import {
  DOMException, ReflectApply, TypeError, isObject, listFrom, newList, tagClass, toString,
} from './primordials.js';

const KEY = {};
let trigger;

// What a listener throws must not stop the others, and must not vanish: it becomes an unhandled rejection.
const report = async (error) => {
  throw error;
};

const callListener = (callback, signal, event) => {
  try {
    if (typeof callback === 'function') ReflectApply(callback, signal, [event]);
    else callback.handleEvent(event);
  } catch (error) {
    report(error);
  }
};

export class AbortSignal {
  #reason = undefined; // undefined: not aborted
  #listeners = newList(); // of { callback, capture, once, isHandler, removed }
  #handler = null;
  #steps = newList(); // functions that run before the event
  #sources = null; // of a signal made by `any`: the signals it follows
  #dependents = newList();

  static {
    tagClass(this, 'AbortSignal');
    trigger = (signal, reason) => {
      if (signal.#reason !== undefined) return;
      const due = newList();
      due[0] = signal;
      signal.#reason = reason === undefined ? new DOMException('This operation was aborted', 'AbortError') : reason;
      for (let i = 0; i < signal.#dependents.length; i++) {
        const dependent = signal.#dependents[i];
        if (dependent.#reason !== undefined) continue;
        dependent.#reason = signal.#reason;
        due[due.length] = dependent;
      }
      for (let i = 0; i < due.length; i++) due[i].#run();
    };
  }

  constructor(key) {
    if (key !== KEY) throw new TypeError('Illegal constructor: use new AbortController().signal, or ctx.signal');
  }

  static abort(reason = undefined) {
    const signal = new AbortSignal(KEY);
    trigger(signal, reason);
    return signal;
  }

  static any(signals) {
    const given = listFrom(signals);
    for (let i = 0; i < given.length; i++) {
      if (!isObject(given[i]) || !(#reason in given[i])) throw new TypeError('AbortSignal.any takes AbortSignals');
    }
    const result = new AbortSignal(KEY);
    result.#sources = newList();
    for (let i = 0; i < given.length; i++) {
      if (given[i].#reason !== undefined) {
        result.#reason = given[i].#reason;
        return result;
      }
    }
    for (let i = 0; i < given.length; i++) result.#follow(given[i]);
    return result;
  }

  // Follows a signal, or those that it follows itself: so an abort goes one step only, however deep `any` is nested.
  #follow(signal) {
    if (signal.#sources !== null) {
      for (let i = 0; i < signal.#sources.length; i++) this.#follow(signal.#sources[i]);
      return;
    }
    for (let i = 0; i < this.#sources.length; i++) {
      if (this.#sources[i] === signal) return;
    }
    this.#sources[this.#sources.length] = signal;
    signal.#dependents[signal.#dependents.length] = this;
  }

  #run() {
    const steps = this.#steps;
    this.#steps = newList();
    for (let i = 0; i < steps.length; i++) steps[i]();
    const event = { type: 'abort', target: this, currentTarget: this };
    const listeners = this.#listeners;
    const count = listeners.length; // those that are added meanwhile are not called
    this.#listeners = newList();
    for (let i = 0; i < count; i++) this.#listeners[i] = listeners[i];
    for (let i = 0; i < count; i++) {
      const { callback, once, removed } = listeners[i];
      if (removed) continue;
      if (once) this.#remove(listeners[i]);
      callListener(callback, this, event);
    }
  }

  #find(callback, capture) {
    for (let i = 0; i < this.#listeners.length; i++) {
      const entry = this.#listeners[i];
      if (entry.callback === callback && entry.capture === capture && !entry.isHandler) return entry;
    }
    return null;
  }

  #remove(entry) {
    entry.removed = true;
    const listeners = this.#listeners;
    let kept = 0;
    for (let i = 0; i < listeners.length; i++) {
      if (listeners[i] !== entry) listeners[kept++] = listeners[i];
    }
    listeners.length = kept;
  }

  get aborted() {
    return this.#reason !== undefined;
  }

  get reason() {
    return this.#reason;
  }

  throwIfAborted() {
    if (this.#reason !== undefined) throw this.#reason;
  }

  get onabort() {
    return this.#handler === null ? null : this.#handler.callback;
  }

  set onabort(value) {
    const callback = typeof value === 'function' ? value : null;
    if (this.#handler !== null && callback !== null) {
      this.#handler.callback = callback;
    } else if (this.#handler !== null) {
      this.#remove(this.#handler);
      this.#handler = null;
    } else if (callback !== null) {
      this.#handler = { callback, capture: false, once: false, isHandler: true, removed: false };
      this.#listeners[this.#listeners.length] = this.#handler;
    }
  }

  addEventListener(type, callback, options = undefined) {
    if (callback !== null && callback !== undefined && !isObject(callback)) {
      throw new TypeError('The listener must be a function or an object with handleEvent');
    }
    const capture = isObject(options) ? !!options.capture : !!options;
    const once = isObject(options) && !!options.once;
    const until = isObject(options) ? options.signal : undefined;
    if (until !== undefined && !(isObject(until) && #reason in until)) {
      throw new TypeError('The option signal must be an AbortSignal');
    }
    if (toString(type) !== 'abort' || !isObject(callback) || this.#find(callback, capture) !== null) return;
    if (until !== undefined && until.#reason !== undefined) return;
    const entry = { callback, capture, once, isHandler: false, removed: false };
    this.#listeners[this.#listeners.length] = entry;
    if (until !== undefined) until.#steps[until.#steps.length] = () => this.#remove(entry);
  }

  removeEventListener(type, callback, options = undefined) {
    const capture = isObject(options) ? !!options.capture : !!options;
    const entry = toString(type) === 'abort' ? this.#find(callback, capture) : null;
    if (entry !== null) this.#remove(entry);
  }
}

/** Aborts a signal from the host's side; `undefined` gives the usual AbortError. A second time does nothing. */
export const abortSignal = (signal, reason) => trigger(signal, reason);

/** A signal that only `abortSignal` can abort. */
export const newAbortSignal = () => new AbortSignal(KEY);

export class AbortController {
  #signal = new AbortSignal(KEY);

  static {
    tagClass(this, 'AbortController');
  }

  get signal() {
    return this.#signal;
  }

  abort(reason = undefined) {
    trigger(this.#signal, reason);
  }
}
