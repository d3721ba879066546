#include "trace/tools/player.hpp"

#include <algorithm>
#include <stdexcept>
#include <vector>

namespace yantra {

void Player::play(std::span<const std::uint32_t> passes, std::span<const std::int64_t> microbatches,
                  std::span<const std::pair<std::uint32_t, std::uint32_t>> turns, std::int64_t tags_each) {
    std::vector<Played> played(passes.size());
    for (std::size_t at = 0; at < passes.size(); ++at) {
        played[at].pass = passes[at];
    }
    for (const auto& [number, segment] : turns) {
        Played& one = played.at(number);
        const std::int64_t microbatch = microbatches[number];
        stamp(passes_.at(one.pass).segments.at(segment), one, microbatch, microbatch * tags_each);
    }
    for (std::size_t at = 0; at < passes.size(); ++at) {
        const PassCopy& pass = passes_[passes[at]];
        for (const std::uint32_t key : pass.blocking) {
            blocking_.push_back(id_of(played[at], key));
        }
        if (pass.direction) {
            played_[name_of(*pass.direction, pass.chunk, microbatches[at])] = std::move(played[at]);
        }
    }
}

void Player::finish(std::uint32_t pass) {
    Played played{pass, {}};
    for (const Segment& segment : passes_.at(pass).segments) {
        stamp(segment, played, std::nullopt, 0);
    }
    for (const std::uint32_t key : passes_[pass].blocking) {
        blocking_.push_back(id_of(played, key));
    }
}

void Player::stamp(const Segment& segment, Played& played, std::optional<std::int64_t> microbatch,
                   std::int64_t tag_base) {
    edges_.clear();
    tie(segment, played, microbatch);
    const std::uint64_t first = stamper_.stamp(segment.block, edges_, microbatch, tag_base);
    played.firsts.push_back(first);
    if (segment.last_compute) {
        computed_ = first + *segment.last_compute;
        blocking_.clear();
    }
    for (const Segment::Chain& chain : segment.chains) {
        if (std::uint64_t* last = last_of(chain.group)) {
            *last = first + chain.last;
        } else {
            communicated_.emplace_back(chain.group, first + chain.last);
        }
    }
}

void Player::tie(const Segment& segment, const Played& played, std::optional<std::int64_t> microbatch) {
    if (computed_) {
        if (segment.first_compute) {
            edges_.push_back({*segment.first_compute, *computed_, true});
        }
        for (const std::uint64_t place : segment.starts) {
            if (place != segment.first_compute) {
                edges_.push_back({place, *computed_, true});
            }
        }
    }
    if (segment.first_compute) {
        for (const std::uint64_t earlier : blocking_) {
            edges_.push_back({*segment.first_compute, earlier, true});
        }
    }
    for (const Segment::Chain& chain : segment.chains) {
        if (const std::uint64_t* last = last_of(chain.group)) {
            edges_.push_back({chain.first, *last, true});
        }
    }
    for (const Segment::Inner& wait : segment.inner) {
        edges_.push_back({wait.place, played.firsts.at(wait.segment) + wait.earlier, wait.is_control});
    }
    for (const Segment::Outer& wait : segment.outer) {
        tie_outer(wait, passes_[played.pass], microbatch);
    }
}

void Player::tie_outer(const Segment::Outer& wait, const PassCopy& pass,
                       std::optional<std::int64_t> microbatch) {
    if (wait.source == PassSource::reductions) {
        for (const auto& [group, id] : communicated_) {
            if (std::ranges::find(gradient_groups_, group) != gradient_groups_.end()) {
                edges_.push_back({wait.place, id, wait.is_control});
            }
        }
        return;
    }
    if (!microbatch) {
        throw std::invalid_argument("the end of the step cannot wait for a pass");
    }
    PassSource direction = wait.source;
    std::uint32_t chunk = pass.chunk;
    if (wait.source == PassSource::neighbour) {
        if (!pass.neighbour || !pass.beside) {
            throw std::invalid_argument("chunk " + std::to_string(chunk) + " has no neighbour on its device");
        }
        direction = *pass.neighbour;
        chunk = *pass.beside;
    }
    const auto found = played_.find(name_of(direction, chunk, *microbatch));
    if (found == played_.end()) {
        throw std::invalid_argument("a pass waits for one of chunk " + std::to_string(chunk) +
                                    " that was not played");
    }
    edges_.push_back({wait.place, id_of(found->second, wait.key), wait.is_control});
}

std::uint64_t Player::id_of(const Played& played, std::uint32_t key) const {
    const auto& [segment, place] = passes_[played.pass].places.at(key);
    return played.firsts.at(segment) + place;
}

std::uint64_t* Player::last_of(const std::string& group) {
    for (auto& [name, id] : communicated_) {
        if (name == group) {
            return &id;
        }
    }
    return nullptr;
}

// Fewer than 2^20 together (plan/check.py).
std::uint64_t Player::name_of(PassSource direction, std::uint32_t chunk, std::int64_t microbatch) {
    return static_cast<std::uint64_t>(microbatch) << 32U | std::uint64_t{chunk} << 1U |
           std::uint64_t{direction == PassSource::backward};
}

}  // namespace yantra
