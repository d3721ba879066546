// LinkChanges: events for links that fail, return or change rate, at rest while nothing else is
// pending. Routings learn of failures `reroute_delay` later.
#pragma once

#include <algorithm>
#include <vector>

#include "base/ids.hpp"
#include "base/variant.hpp"
#include "engine/engine.hpp"
#include "network/parameters.hpp"

namespace yantra::inline YANTRA_RUN {

class LinkChanges {
public:
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
    const std::vector<LinkChange>& all() const { return changes_; }
    bool is_down(LinkId link) const { return !is_down_.empty() && is_down_[link.index()]; }
    bool is_avoided(LinkId link) const { return !is_avoided_.empty() && is_avoided_[link.index()]; }
    bool any_down() const { return std::find(is_down_.begin(), is_down_.end(), true) != is_down_.end(); }
    const std::vector<bool>& avoided() const { return is_avoided_; }
    template <class Links>
    bool is_cut(const Links& links) const {
        return std::any_of(links.begin(), links.end(), [this](auto link) { return is_down(LinkId(link)); });
    }
    template <class Links>
    bool crosses_avoided(const Links& links) const {
        return std::any_of(links.begin(), links.end(), [this](auto link) { return is_avoided(LinkId(link)); });
    }

    // Calls set(link, bytes per ns).
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

    // If so, a sender must call apply().
    bool rests() const { return rests_; }

private:
    void schedule() {
        if (next_ < changes_.size()) {
            queue_.schedule(std::max(changes_[next_].tick, queue_.now()), {Owner::network, change_}, 0);
        }
    }

    const std::vector<LinkChange>& changes_;
    const u64 delay_;
    EventQueue& queue_;
    const u32 change_;
    const u32 known_;
    std::vector<bool> is_down_;      // by link; may be empty
    std::vector<bool> is_avoided_;   // by link, as last known
    std::size_t next_ = 0;
    bool rests_ = false;
};

}  // namespace yantra
