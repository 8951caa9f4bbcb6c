// Place Lookup: where a named place is, as coordinates.
// Source: https://nominatim.openstreetmap.org (no key needed; at most one request a second, and name yourself).

import Http from 'system/http';
import Log from 'system/log';

import { correctable, isText, isUsable, ok, orUnavailable, readInput, reply, unavailable } from './lib/reply.js';

const TAG = 'PLACE_RESULT';
const SERVICE = 'Place service';

export const exec = async (input) => {
    const { place } = readInput(input, 'place');
    if (!isText(place)) {
        const correction = 'Call again with !*context as JSON: {"place":"Historic Plovdiv"}';
        return reply(TAG, correctable('Place Lookup input is invalid.', correction));
    }
    return reply(TAG, await orUnavailable(SERVICE, () => findPlace(place)));
};

const findPlace = async (place) => {
    const response = await Http.getJson('https://nominatim.openstreetmap.org/search', {
        // limit: ask for what you need. A response must fit into the exchange buffer, and the agent reads every word of yours.
        query: { q: place, format: 'jsonv2', limit: 1, 'accept-language': 'en' },
        headers: { 'user-agent': 'keelbox-example-place-lookup' },
    });
    Log.info('place search answered', { status: response.status });
    if (!isUsable(response) || !Array.isArray(response.body)) return unavailable(SERVICE);

    if (response.body.length === 0) {
        const correction = 'Call again with another name of the same place, or with the name of its town alone.';
        return correctable(`No place found for "${place}".`, correction);
    }

    const [hit] = response.body;
    // The service writes coordinates as text; "" and undefined would quietly become 0 and NaN.
    const [latitude, longitude] = [hit.lat, hit.lon].map((text) => (isText(text) ? Number(text) : NaN));
    if (!Number.isFinite(latitude) || !Number.isFinite(longitude)) return unavailable(SERVICE);

    return ok({
        name: hit.name,
        fullName: hit.display_name,
        kind: hit.type,
        latitude,
        longitude,
        credit: 'Data © OpenStreetMap contributors',
    });
};
