// LinkChanges: links that fail, return or change their rate at stated times, as one chain of a network's events.
//
// Each change schedules the next. Where no message is under way and nothing else will happen the chain rests, so what
// would happen behind the end of a run costs nothing. What fails is known to routings `reroute_delay` later.
#pragma once

#include <algorithm>
#include <vector>

#include "base/variant.hpp"
#include "base/vector.hpp"
#include "engine/engine.hpp"
#include "network/parameters.hpp"

namespace yantra::inline YANTRA_RUN {

class LinkChanges {
public:
    // `change` and `known` are kinds of events of the network: links change, and what is down is known.
    LinkChanges(const NetworkParameters& parameters, u32 links, EventQueue& queue, u32 change, u32 known)
        : changes_(parameters.link_changes),
          delay_(parameters.reroute_delay),
          queue_(queue),
          change_(change),
          known_(known) {
        if (!changes_.empty()) {
            is_down_.resize(links);
            is_avoided_.resize(links);
            schedule();
        }
    }

    bool any() const { return !changes_.empty(); }
    const Vector<LinkChange>& all() const { return changes_; }
    bool is_down(u32 link) const { return !is_down_.empty() && is_down_[link]; }
    bool is_avoided(u32 link) const { return !is_avoided_.empty() && is_avoided_[link]; }
    bool any_down() const { return std::find(is_down_.begin(), is_down_.end(), true) != is_down_.end(); }
    // Links that are not to be used, as far as is known.
    const std::vector<bool>& avoided() const { return is_avoided_; }
    template <class Links>
    bool is_cut(const Links& links) const {
        return std::any_of(links.begin(), links.end(), [this](u32 link) { return is_down(link); });
    }
    template <class Links>
    bool crosses_avoided(const Links& links) const {
        return std::any_of(links.begin(), links.end(), [this](u32 link) { return is_avoided(link); });
    }

    // All changes of this time, as set(link, bytes per ns).
    template <class Set>
    void apply(bool is_idle, Set&& set) {
        u64 known_at = 0;
        for (; next_ < changes_.size() && changes_[next_].tick <= queue_.now(); ++next_) {
            const LinkChange& change = changes_[next_];
            const bool is_down = change.bytes_per_ns == 0.0;
            if (is_down_[change.link] != is_down) {
                known_at = change.tick + delay_;
            }
            is_down_[change.link] = is_down;
            set(change.link, change.bytes_per_ns);
        }
        if (known_at > 0) {
            queue_.schedule(std::max(known_at, queue_.now()), {Owner::network, known_}, 0);
        }
        rests_ = is_idle && queue_.empty();
        if (!rests_) {
            schedule();
        }
    }
    void becomes_known() { is_avoided_ = is_down_; }

    // Whether a message that is sent now has to see to it that the chain goes on: apply() does.
    bool rests() const { return rests_; }

private:
    void schedule() {
        if (next_ < changes_.size()) {
            queue_.schedule(std::max(changes_[next_].tick, queue_.now()), {Owner::network, change_}, 0);
        }
    }

    const Vector<LinkChange>& changes_;
    const u64 delay_;
    EventQueue& queue_;
    const u32 change_;
    const u32 known_;
    std::vector<bool> is_down_;      // by link; empty where none ever is
    std::vector<bool> is_avoided_;   // by link, as it was known last
    std::size_t next_ = 0;
    bool rests_ = false;
};

}  // namespace yantra
