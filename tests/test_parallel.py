"""Calls in a pool of workers: each result once, whatever joblib delivers."""

from sklearn.utils.parallel import Parallel

from skstab._engine.pool import Pool, open_pool


class Unruly(Parallel):
    """Delivers results of earlier rounds again, and leaves out the last one of a round."""

    def __call__(self, calls):
        results = super().__call__(calls)
        earlier = self.__dict__.setdefault("earlier", [])
        delivered = [*earlier, *(results[:-1] if len(results) > 1 else results)]
        earlier += results
        return delivered


def test_every_result_comes_once():
    pool = Pool(Unruly(n_jobs=1))
    results = list(
        pool.as_finished(
            divmod, {number: (number, 3) for number in range(5)}, lost=None
        )
    )
    assert sorted(results) == [(number, divmod(number, 3)) for number in range(5)]
    assert len(results) == 5


def test_numbers_belong_to_their_calls():
    with open_pool(2) as pool:
        results = dict(
            pool.as_finished(divmod, {7: (7, 3), 2: (2, 3), 5: (5, 3)}, lost=None)
        )
    assert results == {7: (2, 1), 2: (0, 2), 5: (1, 2)}
