// TickOrder: the order of one tick's events: what comes over links, then flows that begin, each by
// `place_in_tick`, then what devices have set themselves, as they set it. So nothing depends on when
// other devices set theirs: they may run in any order, or at once.
// Trade-off: ticks with several events are copied and checked.
#pragma once

#include <vector>

#include "network/packet/sender.hpp"

namespace yantra::packet {

class TickOrder {
public:
    bool empty() const { return done_ == events_.size(); }
    u32 next() { return events_[done_++]; }

    // `place_of(kind, index)`: the least goes first; of equal ones the one scheduled first.
    template <class PlaceOf>
    u32 take(u32 what, Wheel& wheel, PlaceOf&& place_of) {
        events_.clear();
        own_.clear();
        arrivals_.clear();
        begins_.clear();
        while (true) {
            const EventKind kind = kind_of(what);
            if (kind == EventKind::arrived) {
                add(arrivals_, place_of(kind, what & event_index), what);
            } else if (kind == EventKind::begins) {
                add(begins_, place_of(kind, what & event_index), what);
            } else {
                own_.push_back(what);
            }
            if (!wheel.has_more_now()) {
                break;
            }
            what = wheel.next();
        }
        take_in_order(arrivals_);
        take_in_order(begins_);
        events_.insert(events_.end(), own_.begin(), own_.end());
        done_ = 1;
        return events_[0];
    }

private:
    struct Place {
        u64 place;
        u32 at;     // as scheduled
        u32 what;
    };

    static void add(std::vector<Place>& to, u64 place, u32 what) {
        to.push_back({place, static_cast<u32>(to.size()), what});
    }
    void take_in_order(std::vector<Place>& places) {
        if (places.size() > few) {
            sort(places);
        } else {
            for (std::size_t at = 1; at < places.size(); ++at) {
                const Place moved = places[at];
                std::size_t to = at;
                for (; to > 0 && places[to - 1].place > moved.place; --to) {
                    places[to] = places[to - 1];
                }
                places[to] = moved;
            }
        }
        for (const Place& of : places) {
            events_.push_back(of.what);
        }
    }
    void sort(std::vector<Place>& places);
    bool sort_by_link(std::vector<Place>& places);

    static constexpr std::size_t few = 16;

    std::vector<u32> events_;   // of this tick, in their order
    std::size_t done_ = 0;
    std::vector<u32> own_;
    std::vector<Place> arrivals_;
    std::vector<Place> begins_;
    std::vector<u64> is_there_;   // a bit for each link
    std::vector<u32> by_link_;
};

}  // namespace yantra::packet
