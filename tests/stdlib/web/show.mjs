// A value as a text that tells apart whatever a web API may answer. Runs in node and in the guest alike.

const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join(' ');

const showObject = (value, inner) => {
  if (value instanceof DOMException) return `DOMException ${value.name} ${value.code} ${inner(value.message)}`;
  if (value instanceof Error) {
    const own = ['message', 'cause'].filter((key) => Object.hasOwn(value, key)).map((key) => `${key}: ${inner(value[key])}`);
    return `${value.constructor.name} ${value.name} {${own.join(', ')}}`;
  }
  if (value instanceof Date) return `Date ${value.getTime()}`;
  if (value instanceof RegExp) return `RegExp ${value} at ${value.lastIndex}`;
  if (value instanceof Map) return `Map {${[...value].map(([key, item]) => `${inner(key)} => ${inner(item)}`).join(', ')}}`;
  if (value instanceof Set) return `Set {${[...value].map(inner).join(', ')}}`;
  if (value instanceof ArrayBuffer) {
    return `ArrayBuffer ${value.resizable ? `up to ${value.maxByteLength} ` : ''}[${value.byteLength > 0 ? hex(new Uint8Array(value)) : ''}]`;
  }
  if (value instanceof DataView) return `DataView ${value.byteOffset}+${value.byteLength} of ${inner(value.buffer)}`;
  if (ArrayBuffer.isView(value)) {
    const items = value.length === 0 ? '' : Array.from(value, (item) => inner(item)).join(', ');
    return `${value.constructor.name} [${items}] ${value.byteOffset} of ${value.buffer.byteLength}`;
  }
  if (value instanceof Boolean || value instanceof Number || value instanceof String || value instanceof BigInt) {
    return `${value.constructor.name} object ${inner(value.valueOf())}`;
  }
  const prototype = Object.getPrototypeOf(value);
  const kind = Array.isArray(value) ? `Array(${value.length}) ` : prototype === Object.prototype ? '' : `${prototype?.constructor.name} `;
  const properties = Object.keys(value).map((key) => `${JSON.stringify(key)}: ${inner(value[key])}`);
  return `${kind}{${properties.join(', ')}}`;
};

export const show = (value, seen = []) => {
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'bigint') return `${value}n`;
  if (Object.is(value, -0)) return '-0';
  if (typeof value === 'function') return 'function';
  if (typeof value !== 'object' || value === null) return String(value);
  if (seen.includes(value)) return `#${seen.indexOf(value)}`;
  seen.push(value); // shared references and cycles show as the number of the object
  return showObject(value, (item) => show(item, seen));
};

/** A number for a text, to compare thousands of long ones. */
export const digest = (text) => {
  let value = 0;
  for (let i = 0; i < text.length; i++) value = (Math.imul(value, 31) + text.charCodeAt(i)) | 0;
  return value;
};

/** What `run` answers, or the name of what it throws: texts of errors are not compared. */
export const outcomeOf = (run, api) => {
  try {
    return { value: run(api) };
  } catch (error) {
    return { thrown: error };
  }
};

export const showOutcome = ({ value, thrown }) => (thrown === undefined ? show(value) : `throws ${thrown?.name ?? show(thrown)}`);
