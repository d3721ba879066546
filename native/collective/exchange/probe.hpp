// What a recorded run notes of packets: what each waited for.
#pragma once

#include <vector>

#include "base/ids.hpp"
#include "engine/event.hpp"
#include "engine/rank_events.hpp"
#include "record/recorder.hpp"

namespace yantra::exchange::inline YANTRA_RUN {

#ifndef YANTRA_RECORDED

struct Probe {
    explicit Probe(Recorder&) {}
    void arrived(const Event&, u32) {}
    void arrived_early(const Event&) {}
    void receive_ready(const Event&, u32) {}
    void handed_over(const RankEvent&, u64, u32) {}
    void reduced(const RankEvent&, u64, u32) {}
    void packet_waits(ChunkId) {}
    void barrier_passed(ChunkId, u32, u64) {}
    void last_packet(ChunkId, u32, u64) {}
    void sends(u32) {}
    void message_sent(u64, u32, u32) {}
    void receive_posted(ChunkId, u32, u32, bool) {}
    void counted(ChunkId, u32, u32, bool, u32, u64) {}
    void kept_early(u32) {}
    void receiver_joins(u32, u32) {}
    void early_counted(ChunkId, u32, u32, u32) {}
};

#else

class Probe {
public:
    explicit Probe(Recorder& recorder) : recorder_(recorder) {}

    void arrived(const Event& event, u32 node) {
        begin(event.time, event.trail.cause, Why::carried, event.trail.detail);
        recorder_.arrived(event.trail.detail);
        recorder_.received_by(recorder_.recording().message_of(event.trail.detail), node);
    }
    void arrived_early(const Event& event) {
        begin(event.time, event.trail.cause, Why::carried, event.trail.detail);
        recorder_.arrived(event.trail.detail);
        at(early_, event.index).message = recorder_.recording().message_of(event.trail.detail);
    }
    void receive_ready(const Event& event, u32 node) {
        begin(event.time, event.trail.cause, Why::nothing, node);
        recorder_.edge(event.trail.detail);
    }
    void handed_over(const RankEvent& event, u64 now, u32 node) {
        begin(now, event.trail.cause, Why::hand_over, node);
    }
    void reduced(const RankEvent& event, u64 now, u32 node) {
        begin(now, event.trail.cause, Why::reduction, node);
    }

    void packet_waits(ChunkId chunk) {
        recorder_.push(at(chunks_, chunk.index()).packets, recorder_.now());
    }
    void barrier_passed(ChunkId chunk, u32 node, u64 now) {
        MomentList& packets = at(chunks_, chunk.index()).packets;
        Recorder::Join(recorder_, now, node, true).with_all(packets);
        recorder_.push(packets, recorder_.now());
    }
    void last_packet(ChunkId chunk, u32 node, u64 now) {
        Recorder::Join(recorder_, now, node, true).with_all(at(chunks_, chunk.index()).packets);
    }

    void sends(u32 node) { recorder_.owner = node; }
    void message_sent(u64 bytes, u32 rank, u32 tag) { recorder_.message(bytes, rank, tag); }
    void receive_posted(ChunkId chunk, u32 counters, u32 slot, bool has_arrived) {
        if (has_arrived) {
            recorder_.trail.detail = recorder_.pop(arrivals(chunk, counters, slot));
        } else {
            recorder_.push(arrivals(chunk, counters, slot), recorder_.now());
        }
    }
    void counted(ChunkId chunk, u32 counters, u32 slot, bool is_awaited, u32 node, u64 now) {
        MomentList& other = arrivals(chunk, counters, slot);
        if (is_awaited) {
            Recorder::Join(recorder_, now, node, true).with(recorder_.pop(other));
        } else {
            recorder_.push(other, recorder_.now());
        }
    }

    void kept_early(u32 early) { at(early_, early).moment = recorder_.now(); }
    void receiver_joins(u32 early, u32 node) { recorder_.received_by(early_[early].message, node); }
    // Early arrivals come newest first.
    void early_counted(ChunkId chunk, u32 counters, u32 slot, u32 early) {
        recorder_.push_first(arrivals(chunk, counters, slot), early_[early].moment);
    }

private:
    struct OfChunk {
        MomentList packets;          // that wait for others, and what these wait for
        MomentList near[2];          // messages or receives that wait for the other
    };
    struct OfEarly {
        u32 moment = none;
        u32 message = none;
    };

    template <class Item>
    static Item& at(std::vector<Item>& items, std::size_t index) {
        if (items.size() <= index) {
            items.resize(index + 1);
        }
        return items[index];
    }
    void begin(u64 now, u32 cause, Why why, u32 subject) {
        recorder_.begin(now, cause, why, subject, true);
    }
    MomentList& arrivals(ChunkId chunk, u32 counters, u32 slot) {
        return counters != none ? at(counters_, counters + slot)
                                : at(chunks_, chunk.index()).near[slot];
    }

    Recorder& recorder_;
    std::vector<OfChunk> chunks_;
    std::vector<MomentList> counters_;
    std::vector<OfEarly> early_;
};

#endif

}  // namespace yantra::exchange
