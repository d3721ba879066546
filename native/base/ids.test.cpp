// An id compares only with its own kind, and alone indexes its vector.
#include "base/ids.hpp"

#include <concepts>
#include <type_traits>
#include <unordered_set>

#include "base/test.hpp"

namespace {

using namespace yantra;
using test::check;

static_assert(sizeof(RankId) == sizeof(u32) && std::is_trivially_copyable_v<RankId>);
static_assert(!std::is_convertible_v<u32, RankId>);
static_assert(!std::is_convertible_v<RankId, u32>);
static_assert(!std::is_constructible_v<RankId, ClassId>);
static_assert(!std::is_assignable_v<RankId&, ClassId>);
static_assert(!std::equality_comparable_with<RankId, ClassId>);

template <class Vector, class Index>
concept indexed_by = requires(Vector vector, Index index) { vector[index]; };

static_assert(indexed_by<IdVector<RankId, u64>, RankId>);
static_assert(!indexed_by<IdVector<RankId, u64>, ClassId>);
static_assert(!indexed_by<IdVector<RankId, u64>, u32>);

void an_id_is_none_until_it_is_given_an_index() {
    check(RankId().is_none() && RankId() == RankId::none, "a new id is not none", 0);
    check(!RankId(0).is_none() && RankId(7).index() == 7, "an index changed", 1);
    check(RankId(3) < RankId(4) && RankId(4) < RankId::none, "ids are not in the order of indices", 2);
}

void a_vector_gives_the_ids_that_index_it() {
    IdVector<RankId, u64> squares;
    std::unordered_set<RankId> given;
    for (u64 step = 0; step < 100; ++step) {
        const RankId expected = squares.next();
        check(!squares.has(expected), "an id is there before its value", step);
        const RankId id = squares.add(step * step);
        check(id == expected && squares.has(id), "an id is not the one announced", step);
        check(given.insert(id).second, "an id was given twice", step);
        check(squares[id] == step * step, "a value is not at its id", step);
    }
    check(squares.size() == 100 && !squares.has(RankId::none), "the vector has another size", 100);
}

}  // namespace

int main() {
    an_id_is_none_until_it_is_given_an_index();
    a_vector_gives_the_ids_that_index_it();
}
