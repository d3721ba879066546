// What a recorded run notes of matched messages.
#pragma once

#include <vector>

#include "base/ids.hpp"
#include "engine/event.hpp"
#include "record/recorder.hpp"

namespace yantra::inline YANTRA_RUN {

#ifndef YANTRA_RECORDED

struct TransportProbe {
    explicit TransportProbe(Recorder&) {}
    void sent(u32, bool, u64, RankId, u32) {}
    void posted(u32, bool) {}
    void arrived(const Event&, bool) {}
    void departed(const Event&) {}
    void receive_ready(const Event&) {}
    void delivered(u32) {}
    void send_ends(u32, u64) {}
    void received(u32, u64) {}
    void rendezvous_begins(u32) {}
    void rendezvous_goes_on(u32) {}
};

#else

class TransportProbe {
public:
    explicit TransportProbe(Recorder& recorder) : recorder_(recorder) {}

    void sent(u32 flight, bool fresh, u64 bytes, RankId dst, u32 tag) {
        OfFlight& of = at(flight, fresh);
        of.log = recorder_.message(bytes, dst.index(), tag);
        if (!fresh) {
            recorder_.received_by(of.log, of.receiver);
        }
    }
    void posted(u32 flight, bool fresh) {
        OfFlight& of = at(flight, fresh);
        if (!fresh) {
            recorder_.received_by(of.log, recorder_.owner);
        }
        of.posted = recorder_.now();
        of.receiver = recorder_.owner;
        recorder_.trail.detail = of.arrived;
    }

    void arrived(const Event& event, bool pure) {
        recorder_.begin(event.time, event.trail.cause, Why::carried, event.trail.detail, pure);
        recorder_.arrived(event.trail.detail);
    }
    void departed(const Event& event) {
        recorder_.begin(event.time, event.trail.cause, Why::departed, event.trail.detail, true);
    }
    void receive_ready(const Event& event) {
        recorder_.begin(event.time, event.trail.cause, Why::nothing, flights_[event.index].receiver,
                        true);
        recorder_.edge(event.trail.detail);
    }

    void delivered(u32 flight) { flights_[flight].arrived = recorder_.now(); }
    void send_ends(u32 flight, u64 now) {
        const u32 sender = recorder_.recording().messages[flights_[flight].log].node;
        Recorder::Join(recorder_, now, sender).apart();
    }
    void received(u32 flight, u64 now) {
        const OfFlight& of = flights_[flight];
        Recorder::Join(recorder_, now, of.receiver, true).with(of.posted);
    }

    void rendezvous_begins(u32 rendezvous) {
        if (rendezvous_.size() <= rendezvous) {
            rendezvous_.resize(rendezvous + 1);
        }
        rendezvous_[rendezvous] = recorder_.owner;
    }
    void rendezvous_goes_on(u32 rendezvous) { recorder_.owner = rendezvous_[rendezvous]; }

private:
    struct OfFlight {
        u32 log = none;
        u32 posted = none;
        u32 arrived = none;
        u32 receiver = none;
    };

    OfFlight& at(u32 flight, bool fresh) {
        if (flights_.size() <= flight) {
            flights_.resize(flight + 1);
        }
        if (fresh) {
            flights_[flight] = {};
        }
        return flights_[flight];
    }

    Recorder& recorder_;
    std::vector<OfFlight> flights_;
    std::vector<u32> rendezvous_;   // nodes
};

#endif

}  // namespace yantra
