// Apart: lists of flows of which few meet. Flows that use a link, or the one back, at overlapping times
// meet; those that meet, over others or not, are a component, most often of one flow. Each is simulated
// alone, and once of all that are alike but for time and names: that is what is skipped.
// Proof: A packet is on links of its flow's ways alone, between the flow's start and last ACK. So if no
// two flows of different components meet, at times found with each alone, then by induction over time
// what a port sees of a component is what it sees of it alone: before it the port is idle, and an idle
// port or NIC has no memory (Nic forgets its turn; congestion controls that keep something in ports are
// refused). Switches know nothing else but their buffer: no port pauses or drops while all that its
// switch can ever hold, the sum of its ports' longest queues, is within every threshold, which is
// checked. Draws depend on time, so a component that drew is none. What is alike has equal
// sizes, distances of starts, rates, delays and marks of links, and links and flows in equal order, and
// that is all that a run without draws depends on.
// Trade-off: times must be found before it is known who meets, so some are simulated twice.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "network/packet/simulator.hpp"

namespace yantra::packet {

// In ticks.
struct ListedFlow {
    u64 start = 0;
    u64 bytes = 0;
    std::span<const u32> data;   // links
    std::span<const u32> acks;
};

class Apart {
public:
    // Empty, or why none can be skipped.
    static std::string refusal(const Settings& settings);

    // Precondition: refusal() is empty. They outlive it.
    Apart(const FabricSpec& fabric, const Settings& settings, std::vector<ListedFlow> flows);
    ~Apart();

    // Handles some events. True: all are known, or refused().
    bool run_for(u64 events);
    const std::string& refused() const { return refused_; }

    const std::vector<u64>& received() const { return received_; }   // ticks, by flow
    const std::vector<u64>& completed() const { return completed_; }
    const std::vector<PortCount>& ports() const { return ports_; }   // by link
    const Totals& totals() const { return totals_; }
    u64 events() const { return events_; }

private:
    // Of a component, from its start on.
    struct Known {
        std::vector<u64> received;    // ticks, by flow
        std::vector<u64> completed;
        std::vector<PortCount> ports; // of its links, in their order
        Totals totals;
        u64 events = 0;
    };
    struct Component {
        std::vector<u32> flows;       // in their order
        std::vector<u32> links;       // with those back, in their order
        const Known* known = nullptr;
    };
    using Key = std::vector<u64>;
    class Alone;

    void estimate();
    bool divide();
    std::vector<u32> tops(const std::vector<u32>& order) const;
    void note_ends();
    void handle(Component& of, u64& events);
    void add_up();
    bool pays() const;
    Component component(std::vector<u32> flows) const;
    Key key_of(const Component& of) const;
    bool buffers_suffice() const;
    u32 pair_of(u32 link) const { return std::min(link, fabric_.links[link].twin); }

    const FabricSpec& fabric_;
    const Settings& settings_;
    const std::vector<ListedFlow> flows_;
    std::vector<u64> received_;
    std::vector<u64> completed_;      // estimated until known
    std::vector<Component> components_;
    std::map<Key, Known> known_;
    std::size_t next_ = 0;            // component
    u32 rounds_ = 0;
    std::unique_ptr<Alone> alone_;    // the one under way
    std::string refused_;
    std::vector<PortCount> ports_;
    Totals totals_;
    u64 events_ = 0;
};

}  // namespace yantra::packet
