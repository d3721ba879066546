// Lanes: CPU threads cut into slices. Time belongs to the innermost operator, cut where another lane
// can depend on it.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trace/replay/drafts.hpp"
#include "trace/replay/recorded.hpp"

namespace yantra::replay {

// An instant of a thread: a call outside operators, a cut, a wait, in this order at one time.
struct Point {
    enum Kind : std::uint8_t { call, cut, wait };
    std::int64_t time;
    Kind kind;
    std::int64_t key;  // of a call: its end; a wait: its place; a cut: an op's id, or below -1
    std::uint32_t owner = none;
    std::uint32_t name = 0;
    std::uint32_t op = none;  // of a cut for a device op's launch
};

struct Thread {
    std::int64_t tid;
    std::vector<std::uint32_t> drafts;
};

class Lanes {
public:
    explicit Lanes(const Recorded& of);

    void cut();

    const Recorded& of;
    Drafts drafts;
    LanePlaces places;
    std::vector<Thread> threads;             // by tid
    std::vector<std::uint32_t> first, last;  // drafts of an operator
    std::vector<std::uint32_t> launched;     // by device op: the thread's last draft at its launch
    std::vector<std::uint32_t> wait_drafts;
    struct Crossing {
        std::uint32_t after = none;  // the thread's last draft where it is cut
        std::uint32_t op = none;     // what waits: a device op or an operator
        std::uint32_t operation = none;
    };
    std::vector<Crossing> crossings;

private:
    friend class ThreadCutter;
    using Points = std::unordered_map<std::int64_t, std::vector<Point>>;

    void add_launches(Points& points) const;
    void add_waits(Points& points) const;
    void cut_for_orphans(Points& points);
    void cut_for_threads(Points& points);
    void cut_for(std::uint32_t source, std::uint32_t target, Points& points);
    std::int64_t new_key();
    bool comes_before(const Point& a, const Point& b) const;
    std::int64_t id_of(std::uint32_t owner) const;

    std::vector<std::uint32_t> crossing_of_;  // by cut
};

}  // namespace yantra::replay
