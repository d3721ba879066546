// Drafts: nodes in the making, and what each waits for as a list in one pool.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "trace/replay/recorded.hpp"

namespace yantra::replay {

// `operation`: an operator's first slice, even without time. `slice`: a later one, or time outside
// operators. `wait`: the rest of a blocking call. `delay`: time of a lane that nothing explains.
enum class Kind : std::uint8_t { operation, slice, wait, delay, device };

struct Draft {
    Kind kind;
    std::uint32_t source;  // place of an operator, wait or device op, or none
    std::uint32_t name;
    std::uint32_t place;   // of its lane
    std::int64_t start;
    std::int64_t end;
    std::uint32_t ctrl = none;
    std::uint32_t head = none;  // of its dependencies
    std::uint32_t tail = none;
};

// Threads (device -1) and streams.
class LanePlaces {
public:
    std::uint32_t of(std::int64_t device, std::int64_t lane) {
        const auto [found, is_new] = known_.try_emplace({device, lane}, static_cast<std::uint32_t>(device_.size()));
        if (is_new) {
            device_.push_back(device);
            lane_.push_back(lane);
        }
        return found->second;
    }
    std::int64_t device(std::uint32_t place) const { return device_[place]; }
    std::int64_t lane(std::uint32_t place) const { return lane_[place]; }
    const std::vector<std::int64_t>& devices() const { return device_; }
    const std::vector<std::int64_t>& lanes() const { return lane_; }

private:
    std::map<std::pair<std::int64_t, std::int64_t>, std::uint32_t> known_;
    std::vector<std::int64_t> device_, lane_;
};

class Drafts {
public:
    // Room that is not used costs nothing, and what grows leaves holes.
    void reserve(std::size_t drafts) {
        drafts_.reserve(drafts);
        links_.reserve(2 * drafts);
    }
    std::uint32_t add(const Draft& draft) {
        drafts_.push_back(draft);
        return size() - 1;
    }
    std::uint32_t size() const { return static_cast<std::uint32_t>(drafts_.size()); }
    Draft& operator[](std::uint32_t at) { return drafts_[at]; }
    const Draft& operator[](std::uint32_t at) const { return drafts_[at]; }

    void depend(std::uint32_t at, std::uint32_t on) {
        Draft& draft = drafts_[at];
        const auto link = static_cast<std::uint32_t>(links_.size());
        links_.push_back({on, none});
        if (draft.head == none) {
            draft.head = link;
        } else {
            links_[draft.tail].next = link;
        }
        draft.tail = link;
    }
    bool depends(std::uint32_t at, std::uint32_t on) const {
        for (std::uint32_t link = drafts_[at].head; link != none; link = links_[link].next) {
            if (links_[link].on == on) {
                return true;
            }
        }
        return false;
    }
    // The first dependency becomes `on`.
    void follow(std::uint32_t at, std::uint32_t on) { links_[drafts_[at].head].on = on; }

    template <class Keep>
    void keep(std::uint32_t at, Keep keep) {
        std::uint32_t link = drafts_[at].head;
        drafts_[at].head = drafts_[at].tail = none;
        while (link != none) {
            const Link one = links_[link];
            if (keep(one.on)) {
                depend(at, one.on);
            }
            link = one.next;
        }
    }
    template <class Visit>
    void each(std::uint32_t at, Visit visit) const {
        for (std::uint32_t link = drafts_[at].head; link != none; link = links_[link].next) {
            visit(links_[link].on);
        }
    }
    template <class Visit>  // and its control dependency, last
    void each_of_all(std::uint32_t at, Visit visit) const {
        each(at, visit);
        if (drafts_[at].ctrl != none) {
            visit(drafts_[at].ctrl);
        }
    }

private:
    struct Link {
        std::uint32_t on;
        std::uint32_t next;
    };
    std::vector<Draft> drafts_;
    std::vector<Link> links_;
};

}  // namespace yantra::replay
