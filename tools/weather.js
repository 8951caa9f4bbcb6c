// Current Weather: temperature, feel, humidity and wind in a named city, now.
// Source: https://open-meteo.com (no key needed). Two requests, one after the other: where the city is, then its weather.

import Http from 'system/http';
import Log from 'system/log';

import { correctable, isText, isUsable, ok, orUnavailable, readInput, reply, unavailable } from './lib/reply.js';

const TAG = 'WEATHER_RESULT';
const SERVICE = 'Weather service';

const UNITS = {
    metric: { query: {}, suffixes: ['C', 'Kmh'] },
    imperial: { query: { temperature_unit: 'fahrenheit', wind_speed_unit: 'mph' }, suffixes: ['F', 'Mph'] },
};

// WMO weather codes (table 4677) as Open-Meteo uses them.
const CONDITIONS = {
    0: 'clear sky', 1: 'mainly clear', 2: 'partly cloudy', 3: 'overcast', 45: 'fog', 48: 'freezing fog',
    51: 'light drizzle', 53: 'drizzle', 55: 'dense drizzle', 56: 'light freezing drizzle', 57: 'freezing drizzle',
    61: 'light rain', 63: 'rain', 65: 'heavy rain', 66: 'light freezing rain', 67: 'freezing rain',
    71: 'light snow', 73: 'snow', 75: 'heavy snow', 77: 'snow grains',
    80: 'light showers', 81: 'showers', 82: 'violent showers', 85: 'light snow showers', 86: 'snow showers',
    95: 'thunderstorm', 96: 'thunderstorm with hail', 99: 'thunderstorm with heavy hail',
};

export const exec = async (input, ambient, ctx) => {
    const { city, units = 'metric' } = readInput(input, 'city');
    if (!isText(city)) {
        const correction = 'Call again with !*context as JSON: {"city":"Sofia"}';
        return reply(TAG, correctable('Current Weather input is invalid.', correction));
    }
    if (!Object.hasOwn(UNITS, units)) {
        const correction = 'Leave "units" out, or write one of: metric, imperial.';
        return reply(TAG, correctable('Current Weather does not know these units.', correction));
    }
    ctx.progress({ step: `looking up ${city}` });
    return reply(TAG, await orUnavailable(SERVICE, () => currentWeather(city, UNITS[units])));
};

const currentWeather = async (city, units) => {
    const places = await Http.getJson('https://geocoding-api.open-meteo.com/v1/search', {
        query: { name: city, count: 1, language: 'en', format: 'json' },
    });
    Log.info('geocoding answered', { status: places.status });
    if (!isUsable(places)) return unavailable(SERVICE);

    // For a name that it does not know the service answers 200, and leaves `results` out.
    const place = Array.isArray(places.body.results) ? places.body.results[0] : undefined;
    if (place === undefined) {
        const correction = 'Call again with the English name of the city, or of a larger city near it: {"city":"Sofia"}';
        return correctable(`No city found for "${city}".`, correction);
    }

    // One request at a time: the first has been awaited, so the second may start. Never Promise.all.
    const forecast = await Http.getJson('https://api.open-meteo.com/v1/forecast', {
        query: {
            latitude: place.latitude,
            longitude: place.longitude,
            current: 'temperature_2m,apparent_temperature,relative_humidity_2m,wind_speed_10m,weather_code',
            timezone: 'auto',
            ...units.query,
        },
    });
    Log.info('forecast answered', { status: forecast.status });
    const now = isUsable(forecast) ? forecast.body.current : undefined;
    if (typeof now?.temperature_2m !== 'number') return unavailable(SERVICE);

    const [degrees, speed] = units.suffixes;
    return ok({
        city: place.name,
        country: place.country,
        localTime: now.time,
        conditions: CONDITIONS[now.weather_code] ?? 'unknown',
        [`temperature${degrees}`]: now.temperature_2m,
        [`feelsLike${degrees}`]: now.apparent_temperature,
        humidityPercent: now.relative_humidity_2m,
        [`wind${speed}`]: now.wind_speed_10m,
    });
};
