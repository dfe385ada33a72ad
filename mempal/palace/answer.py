"""Asking a store that is open: what the search verb, and verbs that search for others, share."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from mempal.core.model import SearchResult
from mempal.core.ports import Store
from mempal.ingest.text import read_text
from mempal.palace.access import Access
from mempal.search.cite import Citer
from mempal.search.engine import Request, search
from mempal.search.meaning import IndexMeaning


def answer(access: Access, store: Store, request: Request) -> SearchResult:
    """Answer a request, with words alone where index or embedder cannot help.

    Raises:
        UsageError: The mode is unknown, or the limit is not positive.
    """
    with opening_meaning(access, store) as open_meaning:
        citer = Citer(store, access.outfit.repositories, read_text)
        return search(store, open_meaning, citer, request)


@contextmanager
def opening_meaning(access: Access, store: Store) -> Iterator[Callable[[], IndexMeaning]]:
    """Give a function that opens what answers by meaning, and close what it has opened."""
    with ExitStack() as opened:

        def open_meaning() -> IndexMeaning:
            index = access.outfit.open_index(store)
            if index is not None:
                opened.callback(index.close)
            return IndexMeaning(store, access.outfit.open_embedder(), index)

        yield open_meaning
