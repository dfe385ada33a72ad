"""The bytes of packed vectors, on examples small enough to check by hand."""

import math
import struct

import pytest

from mempal.core.vector import HEADER_BYTES, dimensions, pack, similarity, unpack


def test_the_form_is_a_scale_and_a_signed_byte_for_each_dimension():
    packed = pack([3.0, -4.0])
    (scale,) = struct.unpack_from("<f", packed)
    assert packed[HEADER_BYTES:] == bytes([95, 256 - 127])  # 3 / 4 * 127 = 95.25
    assert scale == pytest.approx(0.8 / 127)
    assert dimensions(packed) == 2
    assert list(unpack(packed)) == pytest.approx([95 * 0.8 / 127, -0.8])


def test_similarities_of_plain_directions():
    east, north, west = pack([1, 0]), pack([0, 5]), pack([-0.1, 0])
    assert similarity(east, east) == pytest.approx(1.0, abs=1e-6)
    assert similarity(east, north) == 0.0
    assert similarity(east, west) == pytest.approx(-1.0, abs=1e-6)
    assert similarity(east, pack([1, 1])) == pytest.approx(math.sqrt(0.5), abs=0.005)


@pytest.mark.parametrize(
    "values", [[0.0, 0.0], [math.nan, 1.0], [math.inf, 1.0], [-math.inf, math.inf], [1e200, 1e200]]
)
def test_a_vector_without_direction_is_similar_to_nothing(values):
    packed = pack(values)
    assert packed == bytes(HEADER_BYTES + 2)
    assert similarity(packed, pack([1, 1])) == similarity(packed, packed) == 0.0


def test_an_empty_vector_has_no_dimensions():
    assert dimensions(pack([])) == 0
    assert list(unpack(pack([]))) == []
    assert similarity(pack([]), pack([])) == 0.0


def test_vectors_of_different_lengths_are_not_compared():
    with pytest.raises(ValueError, match="vectors of 2 and 3 dimensions"):
        similarity(pack([1, 2]), pack([1, 2, 3]))


def test_one_large_component_does_not_overflow():
    packed = pack([1e30, 1.0])
    assert packed[HEADER_BYTES:] == bytes([127, 0])
    assert similarity(packed, packed) == pytest.approx(1.0)
