// What a recorded run notes of messages that take turns on ports.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "network/outside_probe.hpp"

namespace yantra::inline YANTRA_RUN {

#ifndef YANTRA_RECORDED

struct PortsProbe : OutsideProbe {
    using OutsideProbe::OutsideProbe;
    template <class ClassOf>
    void keeps(u32, bool, const ClassOf&) {}
    void holds(u32, u32, u64, u64, u64) {}
};

#else

class PortsProbe : public OutsideProbe {
public:
    explicit PortsProbe(Recorder& recorder) : OutsideProbe(recorder), recorder_(recorder) {}

    // `class_of(link)`, if links are not distinguished.
    template <class ClassOf>
    void keeps(u32 links, bool by_class, const ClassOf& class_of) {
        Recording& recording = recorder_.recording();
        recording.by_port = true;
        for (u32 link = 0; by_class && link < links; ++link) {
            recording.link_class.push_back(class_of(link));
        }
    }
    void holds(u32 message, u32 link, u64 start, u64 end, u64 bytes) {
        recorder_.recording().port_spans.push_back({start, end, bytes, link, number_of(message)});
    }

private:
    Recorder& recorder_;
};

#endif

}  // namespace yantra
