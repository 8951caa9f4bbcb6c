// system/tools: the few helpers that a sandbox without crypto needs.

import { freeze, uuid } from 'keelbox:host';
import { Error, defineHidden } from '../web/primordials.js';

/** A fresh random UUID (version 4) as text. */
export const generateUUID = () => uuid();

/** Thrown by a tool to say: I did nothing, a retry is safe. */
export class ToolRefusedError extends Error {}
defineHidden(ToolRefusedError.prototype, { name: 'ToolRefusedError' });
freeze(ToolRefusedError.prototype);
freeze(ToolRefusedError);

export default freeze({ generateUUID, ToolRefusedError });
