#include "network/noc/circle.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <set>
#include <tuple>
#include <vector>

namespace yantra::noc {

namespace {

constexpr u32 draws = 8;      // of loads, at each place of a packet
constexpr u32 most_load = 4;  // of a port, in such a draw

// Of a head.
using Place = std::tuple<u32, u32, u32, u8>;   // router, input port, VC, half

class Search {
public:
    Search(const Routing& routing, const Shape& shape, u32 vcs)
        : routing_(routing),
          shape_(shape),
          vcs_(vcs),
          looked_at_(routing.escape_vcs() != 0 ? routing.escape_vcs() : ~u64{0}),
          after_(std::size_t{shape.routers()} * shape.first_local() * vcs),
          offers_(routing.most_offers()),
          used_(shape.ports()) {}

    CircleFound run() {
        for (u32 to = 0; to < shape_.routers(); ++to) {
            seen_.clear();
            for (u32 from = 0; from < shape_.routers(); ++from) {
                for (u32 vc = 0; vc < vcs_; ++vc) {
                    visit({from, shape_.first_local(), vc, u8{0}});
                }
            }
            while (!left_.empty()) {
                const Place place = left_.back();
                left_.pop_back();
                follow(place, to);
            }
        }
        state_.assign(after_.size(), State::unseen);
        for (u32 channel = 0; channel < after_.size() && found_.circle.empty(); ++channel) {
            if (state_[channel] == State::unseen) {
                look_from(channel);
            }
        }
        return found_;
    }

private:
    enum class State : u8 { unseen, open, done };

    void visit(const Place& place) {
        if (seen_.insert(place).second) {
            left_.push_back(place);
        }
    }

    u32 channel_of(u32 router, u32 port, u32 vc) const { return (router * shape_.first_local() + port) * vcs_ + vc; }

    void follow(const Place& place, u32 to) {
        const auto [router, in_port, in_vc, half] = place;
        if (router == to) {
            return;
        }
        for (u32 draw = 0; draw < draws; ++draw) {
            for (u32& used : used_) {
                used = static_cast<u32>(random_.below(most_load));
            }
            u8 own_half = half;
            u32 count = 0;
            Offers offers(offers_.data(), count);
            routing_.route({router, to, in_port, in_vc, own_half, used_.data()}, random_, offers);
            bool has_escape = false;
            for (u32 at = 0; at < count; ++at) {
                has_escape = has_escape || (offers_[at].vcs & looked_at_) != 0;
                take(place, offers_[at], own_half);
            }
            found_.lacks_escapes = found_.lacks_escapes || !has_escape;
        }
    }

    void take(const Place& place, const Offer& offer, u8 half) {
        const auto [router, in_port, in_vc, half_before] = place;
        const u32 next = shape_.neighbour(router, offer.port);
        if (next == none) {
            found_.leaves_shape = true;
            return;
        }
        for (u64 vcs = offer.vcs; vcs != 0; vcs &= vcs - 1) {
            const auto vc = static_cast<u32>(std::countr_zero(vcs));
            const bool is_held = in_port < shape_.first_local() && (looked_at_ >> in_vc & 1U) != 0;
            if (is_held && (looked_at_ >> vc & 1U) != 0) {
                const u32 before = shape_.neighbour(router, in_port);
                after_[channel_of(before, in_port ^ 1u, in_vc)].insert(channel_of(router, offer.port, vc));
            }
            visit({next, offer.port ^ 1u, vc, half});
        }
    }

    void look_from(u32 first) {
        std::vector<std::pair<u32, std::set<u32>::const_iterator>> way;
        const auto open = [&](u32 channel) {
            state_[channel] = State::open;
            way.emplace_back(channel, after_[channel].begin());
        };
        open(first);
        while (!way.empty()) {
            auto& [channel, next] = way.back();
            if (next == after_[channel].end()) {
                state_[channel] = State::done;
                way.pop_back();
                continue;
            }
            const u32 to = *next++;
            if (state_[to] == State::open) {
                const auto start = std::find_if(way.begin(), way.end(), [to](const auto& one) { return one.first == to; });
                for (auto at = start; at != way.end(); ++at) {
                    found_.circle.push_back({at->first / vcs_ / shape_.first_local(),
                                             at->first / vcs_ % shape_.first_local(), at->first % vcs_});
                }
                return;
            }
            if (state_[to] == State::unseen) {
                open(to);
            }
        }
    }

    const Routing& routing_;
    const Shape& shape_;
    const u32 vcs_;
    const u64 looked_at_;                  // VCs whose circles count
    std::vector<std::set<u32>> after_;     // by channel
    std::vector<Offer> offers_;
    std::vector<u32> used_;
    std::set<Place> seen_;
    std::vector<Place> left_;
    std::vector<State> state_;
    Rng random_{1, 0x6e6f6304, 0};
    CircleFound found_;
};

}  // namespace

CircleFound find_circle(const Routing& routing, const Shape& shape, u32 vcs) {
    return Search(routing, shape, vcs).run();
}

}  // namespace yantra::noc
