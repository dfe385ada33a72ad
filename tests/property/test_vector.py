"""Packed vectors against the plain numbers they stand for."""

import math
import random
import struct

from hypothesis import assume, example, given
from hypothesis import strategies as st

from mempal.core.vector import HEADER_BYTES, dimensions, pack, similarity, unpack

NUMBERS = st.floats(-1e6, 1e6, width=32)
VECTORS = st.lists(NUMBERS, min_size=1, max_size=300)
PAIRS = st.integers(1, 64).flatmap(
    lambda size: st.tuples(*[st.lists(NUMBERS, min_size=size, max_size=size)] * 2)
)
ANYTHING = st.lists(st.floats(), max_size=20)


def measure(vector: list[float]) -> float:
    return math.sqrt(math.fsum(value * value for value in vector))


def has_direction(vector: list[float]) -> bool:
    return 1e-12 < measure(vector) < math.inf


def cosine(left: list[float], right: list[float]) -> float:
    scale = measure(left) * measure(right)
    return math.fsum(a * b for a, b in zip(left, right, strict=True)) / scale


@given(VECTORS)
@example([0.0, -0.0])
@example([1e-30])
def test_each_component_is_off_by_half_a_step_at_most(vector):
    packed = pack(vector)
    assert dimensions(packed) == len(vector) == len(packed) - HEADER_BYTES
    if not has_direction(vector):
        return
    norm = measure(vector)
    (step,) = struct.unpack_from("<f", packed)
    for value, kept in zip(vector, unpack(packed), strict=True):
        assert abs(value / norm - kept) <= step * 0.5001 + 1e-7


@given(VECTORS)
def test_a_packed_vector_has_unit_length(vector):
    assume(has_direction(vector))
    # Each of n components is off by half of at most 1/127.
    slack = math.sqrt(len(vector)) / 254 + 1e-6
    assert abs(measure(list(unpack(pack(vector)))) - 1) <= slack
    assert abs(similarity(pack(vector), pack(vector)) - 1) <= 2 * slack + slack**2


@given(PAIRS)
def test_a_similarity_is_near_the_cosine(pair):
    left, right = pair
    assume(has_direction(left) and has_direction(right))
    found = similarity(pack(left), pack(right))
    assert -1.0 <= found <= 1.0
    assert found == similarity(pack(right), pack(left))
    slack = math.sqrt(len(left)) / 254
    assert abs(found - cosine(left, right)) <= 2 * slack + slack**2 + 1e-6


@given(st.integers(0, 2**32), st.floats(-1, 1))
def test_at_256_dimensions_a_cosine_is_off_by_less_than_promised(seed, kinship):
    """The promise is for directions without outliers, as embedders give them."""
    generator = random.Random(seed)
    left, noise = ([generator.gauss(0, 1) for _ in range(256)] for _ in range(2))
    right = [kinship * a + (1 - abs(kinship)) * b for a, b in zip(left, noise, strict=True)]
    assert abs(similarity(pack(left), pack(right)) - cosine(left, right)) < 0.005


@given(VECTORS, st.floats(1e-3, 1e3))
def test_only_the_direction_counts(vector, factor):
    assume(has_direction(vector))
    scaled = [factor * value for value in vector]
    assume(has_direction(scaled))
    assert similarity(pack(vector), pack(scaled)) >= similarity(pack(vector), pack(vector)) - 0.02


@given(ANYTHING)
def test_what_has_no_direction_is_similar_to_nothing(vector):
    packed = pack(vector)
    assert dimensions(packed) == len(vector)
    assert all(map(math.isfinite, unpack(packed)))
    if all(value == 0 or not math.isfinite(value) for value in vector) and not any(
        math.isfinite(value) and value for value in vector
    ):
        assert not any(unpack(packed))
        assert similarity(packed, packed) == 0.0
    assert -1.0 <= similarity(packed, packed) <= 1.0


@given(VECTORS)
def test_packing_again_changes_next_to_nothing(vector):
    assume(has_direction(vector))
    once = pack(vector)
    twice = pack(unpack(once))
    assert once[HEADER_BYTES:] == twice[HEADER_BYTES:]
