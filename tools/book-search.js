// Book Search: books by title, and by author if one is given, with the year of the first edition.
// Source: https://openlibrary.org (no key needed).

import Http from 'system/http';
import Log from 'system/log';

import { correctable, isText, isUsable, ok, orUnavailable, readInput, reply, unavailable } from './lib/reply.js';

const TAG = 'BOOK_RESULT';
const SERVICE = 'Book service';
const BOOKS_COUNT = 3;

export const exec = async (input) => {
    const { title, author } = readInput(input, 'title');
    if (!isText(title) || !(author === undefined || isText(author))) {
        const correction = 'Call again with !*context as JSON: {"title":"Dune"} or {"title":"Dune","author":"Frank Herbert"}';
        return reply(TAG, correctable('Book Search input is invalid.', correction));
    }
    return reply(TAG, await orUnavailable(SERVICE, () => findBooks(title, author)));
};

const findBooks = async (title, author) => {
    const query = { title, fields: 'key,title,author_name,first_publish_year', limit: BOOKS_COUNT };
    if (author !== undefined) query.author = author;

    const response = await Http.getJson('https://openlibrary.org/search.json', { query });
    Log.info('book search answered', { status: response.status });
    if (!isUsable(response) || !Array.isArray(response.body.docs)) return unavailable(SERVICE);

    if (response.body.docs.length === 0) {
        const correction = 'Call again with the title in English, in Latin letters, and without the author: {"title":"Dune"}';
        return correctable(`No book found for "${title}".`, correction);
    }

    return ok({
        foundCount: response.body.numFound,
        books: response.body.docs.slice(0, BOOKS_COUNT).map((book) => ({
            title: book.title,
            authors: book.author_name ?? [], // Old catalogue entries have no author, or no year.
            firstPublished: book.first_publish_year ?? null,
            link: `https://openlibrary.org${book.key}`,
        })),
    });
};
