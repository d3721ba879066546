// A Vector holds what a std::vector holds, whatever is done to both: of items that are bytes, of items that own memory,
// of items that only move, and of items that fill lines of the cache.
#include "base/vector.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/test.hpp"

namespace {

using namespace yantra;
using test::check;

// How many items live; none at the end.
struct Counted {
    static inline i64 alive = 0;

    explicit Counted(u64 value = 7) : text(std::to_string(value)) { ++alive; }
    Counted(const Counted& other) : text(other.text) { ++alive; }
    Counted(Counted&& other) noexcept : text(std::move(other.text)) { ++alive; }
    Counted& operator=(const Counted&) = default;
    Counted& operator=(Counted&&) noexcept = default;
    ~Counted() { --alive; }

    bool operator==(const Counted& other) const { return text == other.text; }
    bool operator<(const Counted& other) const { return text < other.text; }

    std::string text;
};

struct alignas(64) Line {
    u64 value = 7;
    explicit Line(u64 given = 7) : value(given) {}
    bool operator==(const Line&) const = default;
    bool operator<(const Line& other) const { return value < other.value; }
};

template <class T>
void check_same(const Vector<T>& ours, const std::vector<T>& theirs, u64 step) {
    check(ours.size() == theirs.size() && ours.empty() == theirs.empty(), "as many items", step);
    check(ours.capacity() >= ours.size(), "room for what there is", step);
    check(std::equal(ours.begin(), ours.end(), theirs.begin()), "the same items", step);
    check(std::equal(ours.rbegin(), ours.rend(), theirs.rbegin()), "the same from the end", step);
    check(reinterpret_cast<std::uintptr_t>(ours.data()) % alignof(T) == 0, "items are aligned", step);
}

template <class T>
void change(Vector<T>& ours, std::vector<T>& theirs, test::Random& random) {
    const T value(random.below(5));
    const std::size_t at = random.below(ours.size() + 1);
    const std::size_t until = at + random.below(ours.size() - at + 1);
    const auto start = [at](auto& items) { return items.begin() + static_cast<std::ptrdiff_t>(at); };
    const auto stop = [until](auto& items) { return items.begin() + static_cast<std::ptrdiff_t>(until); };
    switch (random.below(16)) {
        case 0: ours.push_back(value); theirs.push_back(value); break;
        case 1: ours.emplace_back(u64{3}); theirs.emplace_back(u64{3}); break;
        case 2: ours.resize(at); theirs.resize(at); break;
        case 3: ours.resize(at + 9); theirs.resize(at + 9); break;
        case 4: ours.resize(at + 5, value); theirs.resize(at + 5, value); break;
        case 5: ours.assign(at, value); theirs.assign(at, value); break;
        case 6: ours.insert(start(ours), value); theirs.insert(start(theirs), value); break;
        case 7: ours.insert(start(ours), 3, value); theirs.insert(start(theirs), 3, value); break;
        case 8: ours.insert(start(ours), {value, T(1)}); theirs.insert(start(theirs), {value, T(1)}); break;
        case 9: ours.erase(start(ours), stop(ours)); theirs.erase(start(theirs), stop(theirs)); break;
        case 10:
            erase_if(ours, [&](const T& item) { return item == value; });
            std::erase_if(theirs, [&](const T& item) { return item == value; });
            break;
        case 11: ours.reserve(2 * at); break;
        case 12: ours = Vector<T>(start(ours), stop(ours)); theirs = std::vector<T>(start(theirs), stop(theirs)); break;
        case 13:
            if (!ours.empty()) {   // one of its own, which moves while there is more room made
                ours.push_back(ours.front());
                theirs.push_back(T(theirs.front()));
                ours.resize(ours.size() + 40, ours.back());
                theirs.resize(theirs.size() + 40, T(theirs.back()));
                ours.assign(7, ours.back());
                theirs.assign(7, T(theirs.back()));
            }
            break;
        case 14:
            if (!ours.empty()) {
                ours.pop_back();
                theirs.pop_back();
            }
            break;
        default: ours.clear(); theirs.clear(); break;
    }
}

template <class T>
void run(u32 seed) {
    test::Random random(seed);
    Vector<T> ours;
    std::vector<T> theirs;
    for (u64 step = 0; step < 2000; ++step) {
        const Vector<T> before = ours;
        const std::vector<T> before_theirs = theirs;
        change(ours, theirs, random);
        check_same(ours, theirs, step);
        check_same(before, before_theirs, step);
        check((ours == before) == (theirs == before_theirs), "equal where they are", step);
        check((ours < before) == (theirs < before_theirs), "less where it is", step);
        Vector<T> moved = std::move(ours);
        check(ours.empty(), "a moved one is empty", step);
        ours = std::move(moved);
        ours = static_cast<const Vector<T>&>(ours);   // itself
        check_same(ours, theirs, step);
    }
}

// Copies are made until there are none left.
struct Refusing {
    static inline i64 alive = 0;
    static inline int copies_left = 0;

    Refusing() { ++alive; }
    Refusing(const Refusing&) {
        if (copies_left-- == 0) {
            throw std::bad_alloc();
        }
        ++alive;
    }
    Refusing(Refusing&&) noexcept { ++alive; }
    Refusing& operator=(const Refusing&) = default;
    ~Refusing() { --alive; }
};

void an_item_that_is_not_made_is_not_there() {
    const Refusing item;
    for (std::size_t room = 0; room < 8; ++room) {
        Vector<Refusing> items;
        items.reserve(room);
        Refusing::copies_left = 2;
        std::size_t added = 0;
        try {
            for (; added < 5; ++added) {
                items.push_back(item);
            }
        } catch (const std::bad_alloc&) {
        }
        check(added == 2 && items.size() == 2, "two copies were made", room);
        Refusing::copies_left = 2;
        try {
            Vector<Refusing>(5, item).swap(items);
        } catch (const std::bad_alloc&) {
        }
        check(items.size() == 2 && Refusing::alive == 3, "what was made of others ended", room);
    }
}

void items_that_only_move() {
    Vector<std::unique_ptr<u64>> items;
    for (u64 value = 0; value < 100; ++value) {
        items.push_back(std::make_unique<u64>(value));
    }
    items.erase(items.begin() + 10, items.begin() + 20);
    items.insert(items.begin(), std::make_unique<u64>(1000));
    check(*items.front() == 1000 && *items.at(11) == 20 && *items.back() == 99, "items keep their order", 0);
}

void what_cannot_be_is_refused() {
    bool is_refused = false;
    try {
        Vector<u64> items(3);
        items.at(3) = 1;
    } catch (const std::out_of_range&) {
        is_refused = true;
    }
    check(is_refused, "an index beyond the end", 0);
    is_refused = false;
    Vector<u64> items{1, 2, 3};
    try {
        items.resize(static_cast<std::size_t>(-1) / 4);
    } catch (const std::bad_alloc&) {
        is_refused = true;
    }
    check(is_refused && items == Vector<u64>{1, 2, 3}, "more than there can be; what there is stays", 0);
}

}  // namespace

int main() {
    for (u32 seed = 0; seed < 20; ++seed) {
        run<u64>(seed);
        run<Counted>(seed);
        run<Line>(seed);
    }
    check(Counted::alive == 0, "each item ends once", 0);
    items_that_only_move();
    an_item_that_is_not_made_is_not_there();
    check(Refusing::alive == 0, "each item ends once", 0);
    what_cannot_be_is_refused();
    return 0;
}
