// Border: the packets that leave one part of a fabric for the others, for threads that have a part
// each (network/packet/windows.hpp): a list for each reader, in two sets, one written while the
// other is read. Trade-off: a packet is copied twice.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

#include "network/packet/packet.hpp"

namespace yantra::packet {

// Of parts, and of senders in each, which number() puts into one id.
inline constexpr u32 most_parts = 32;
inline constexpr u32 sender_bits = 26;

struct Crossings {
    struct Crossing {
        u64 tick = 0;   // at which it arrives
        Packet packet;
        u32 hops = 0;
    };

    std::vector<Crossing> all;
    std::vector<Telemetry> hops;   // of each in turn
};

class Border {
public:
    Border() = default;   // there is no other part
    Border(u32 own, std::vector<u8> part_of, u32 parts) : own_(own), part_of_(std::move(part_of)) {
        for (std::vector<Crossings>& set : sets_) {
            set.resize(parts);
        }
    }

    bool is_whole() const { return part_of_.empty(); }
    bool is_cut(u32 from, u32 to) const {
        return !is_whole() && part_of_[from] == own_ && part_of_[to] != own_;
    }

    void send(u32 device, u64 tick, const Packet& packet, std::span<const Telemetry> hops) {
        Crossings& to = sets_[written_][part_of_[device]];
        to.all.push_back({tick, packet, static_cast<u32>(hops.size())});
        to.hops.insert(to.hops.end(), hops.begin(), hops.end());
        earliest_ = std::min(earliest_, tick);
    }
    // Precondition: all have read it.
    void write(u32 set) {
        written_ = set;
        for (Crossings& to : sets_[set]) {
            to.all.clear();
            to.hops.clear();
        }
    }
    const Crossings& read(u32 set, u32 part) const { return sets_[set][part]; }
    // Of what was sent since the last take_earliest(); ~0: nothing.
    u64 earliest() const { return earliest_; }
    u64 take_earliest() { return std::exchange(earliest_, ~u64{0}); }

    // Parts alone cannot go on as one would: why.
    void refuse(const char* why) { refused_ = why; }
    const char* refused() const { return refused_; }

private:
    u32 own_ = 0;
    std::vector<u8> part_of_;   // by device
    std::array<std::vector<Crossings>, 2> sets_;
    u32 written_ = 0;
    u64 earliest_ = ~u64{0};
    const char* refused_ = nullptr;
};

}  // namespace yantra::packet
