// AbortController and AbortSignal. A case is { name, run(api), readsBuiltIns }.

const cases = [];
const add = (name, run) => cases.push({ name, run });
const TAG = Symbol.toStringTag;

// What happened, in order. A text, as a script may have put setters on Array.prototype.
const newTrace = () => ({
  text: '',
  mark(what) {
    return () => {
      this.text += what + ';';
    };
  },
});

add('a new signal', ({ AbortController }) => {
  const { signal } = new AbortController();
  return [signal.aborted, signal.reason, signal.onabort, signal.throwIfAborted()];
});
add('abort without reason', ({ AbortController }) => {
  const controller = new AbortController();
  controller.abort();
  return [controller.signal.aborted, controller.signal.reason];
});
for (const reason of ['why', null, 0, undefined]) {
  add(`abort with ${reason}`, ({ AbortController }) => {
    const controller = new AbortController();
    controller.abort(reason);
    controller.abort('later');
    return [controller.signal.aborted, controller.signal.reason];
  });
}
add('throwIfAborted throws the reason', ({ AbortSignal }) => {
  try {
    AbortSignal.abort('why').throwIfAborted();
  } catch (error) {
    return error;
  }
  return 'nothing';
});
add('AbortSignal.abort', ({ AbortSignal }) => [AbortSignal.abort().aborted, AbortSignal.abort().reason, AbortSignal.abort(5).reason]);
add('the event', ({ AbortController }) => {
  const controller = new AbortController();
  let seen = null;
  controller.signal.addEventListener('abort', function (event) {
    seen = [event.type, event.target === controller.signal, this === controller.signal, controller.signal.aborted];
  });
  controller.abort();
  return seen;
});

const traced = (name, prepare) =>
  add(name, (api) => {
    const controller = new api.AbortController();
    const trace = newTrace();
    prepare(controller.signal, trace, controller, api);
    controller.abort('a');
    controller.abort('b');
    return trace.text;
  });
traced('listeners run once and in order', (signal, trace) => {
  signal.addEventListener('abort', trace.mark('first'));
  signal.onabort = trace.mark('handler');
  signal.addEventListener('abort', trace.mark('last'));
});
traced('a handler that is replaced keeps its place', (signal, trace) => {
  signal.onabort = trace.mark('old');
  signal.addEventListener('abort', trace.mark('listener'));
  signal.onabort = trace.mark('new');
});
traced('a handler that is set to null is gone', (signal, trace) => {
  signal.onabort = trace.mark('old');
  signal.onabort = null;
  signal.addEventListener('abort', trace.mark('listener'));
});
traced('a handler that is no function', (signal, trace) => {
  signal.onabort = 5;
  trace.text += signal.onabort + ';';
});
traced('the same listener counts once', (signal, trace) => {
  const listener = trace.mark('x');
  signal.addEventListener('abort', listener);
  signal.addEventListener('abort', listener, { once: true });
  signal.addEventListener('abort', listener, true);
});
traced('removed listeners do not run', (signal, trace) => {
  const listener = trace.mark('x');
  signal.addEventListener('abort', listener);
  signal.addEventListener('abort', listener, true);
  signal.removeEventListener('abort', listener);
  signal.removeEventListener('abort', trace.mark('never added'));
  signal.removeEventListener('other', listener, true);
});
traced('a listener removes a later one and adds another', (signal, trace) => {
  const later = trace.mark('later');
  signal.addEventListener('abort', () => {
    trace.text += 'first;';
    signal.removeEventListener('abort', later);
    signal.addEventListener('abort', trace.mark('too late'));
  });
  signal.addEventListener('abort', later);
});
traced('an object with handleEvent', (signal, trace) => {
  signal.addEventListener('abort', {
    mark: 'own',
    handleEvent(event) {
      trace.text += this.mark + ' ' + event.type + ';';
    },
  });
});
traced('null and other events are taken and do nothing', (signal, trace) => {
  signal.addEventListener('abort', null);
  signal.addEventListener('load', trace.mark('load'));
  signal.addEventListener('ABORT', trace.mark('upper case'));
});
traced('the option signal removes the listener', (signal, trace, controller, { AbortController, AbortSignal }) => {
  const remover = new AbortController();
  signal.addEventListener('abort', trace.mark('removed'), { signal: remover.signal });
  signal.addEventListener('abort', trace.mark('never added'), { signal: AbortSignal.abort() });
  signal.addEventListener('abort', trace.mark('kept'), { signal: new AbortController().signal });
  remover.abort();
});
traced('abort within a listener', (signal, trace, controller) => {
  signal.addEventListener('abort', () => {
    controller.abort('again');
    trace.text += signal.reason + ';';
  });
});
traced('any follows', (signal, trace, controller, { AbortController, AbortSignal }) => {
  const other = new AbortController();
  const both = AbortSignal.any([signal, other.signal]);
  const nested = AbortSignal.any([both, both, signal]);
  nested.addEventListener('abort', () => (trace.text += 'nested ' + nested.reason + ' ' + both.aborted + ';'));
  both.addEventListener('abort', () => (trace.text += 'both ' + both.reason + ' ' + nested.aborted + ';'));
  signal.addEventListener('abort', () => (trace.text += 'own ' + both.aborted + ';'));
  other.signal.addEventListener('abort', trace.mark('other'));
});
add('any of aborted ones takes the first reason', ({ AbortController, AbortSignal }) => {
  const live = new AbortController();
  const signal = AbortSignal.any([live.signal, AbortSignal.abort('x'), AbortSignal.abort('y')]);
  live.abort('z');
  return [signal.aborted, signal.reason];
});
add('any of none', ({ AbortSignal }) => AbortSignal.any([]).aborted);
add('any of an aborted source twice removed', ({ AbortController, AbortSignal }) => {
  const live = new AbortController();
  const first = AbortSignal.any([live.signal]);
  live.abort('x');
  return AbortSignal.any([AbortSignal.any([first])]).reason;
});
add('any of something else', ({ AbortSignal }) => AbortSignal.any([{}]));
add('any of no list', ({ AbortSignal }) => AbortSignal.any(5));
add('a signal cannot be constructed', ({ AbortSignal }) => new AbortSignal());
add('a listener that is no object', ({ AbortController }) => new AbortController().signal.addEventListener('abort', 'x'));
add('a foreign this', ({ AbortSignal }) => ({ __proto__: AbortSignal.prototype }).aborted);
add('the tags', ({ AbortController, AbortSignal }) => [AbortController.prototype[TAG], AbortSignal.prototype[TAG]]);

export default cases;
