// Steering: packets that choose at each switch among the cheapest ways' next links, by what waits
// at its ports; none that is down. Trade-off: a table of links for each destination and device, and
// one thread, as it is filled when packets come.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "fabric/routing/routing.hpp"
#include "network/packet/ports.hpp"

namespace yantra::packet {

// The methods of Routing of these names, over what links there are.
class Chooser {
public:
    virtual u32 region(u32 from, u32 to) = 0;
    virtual void next(u32 from, u32 to, u32 device, std::vector<u32>& links) = 0;
    virtual u32 choose(const Flow& flow, u32 device, std::span<const u32> links, const LinkLoads& loads) = 0;

protected:
    ~Chooser() = default;
};

class Steering final : private LinkLoads {
public:
    Steering(const Ports& ports, const Senders& senders) : ports_(ports), senders_(senders) {}

    void by(Chooser& chooser);
    // What packets from one device to another have in `route`.
    u32 target(u32 from, u32 to);
    // The links to choose from have changed.
    void forget() {
        for (Target& target : targets_) {
            target.lists.clear();
        }
    }
    // Sets the next link, none where it is for. False: there is no way.
    bool steer(Packet& packet);

private:
    struct Target {
        u32 from = 0;               // one of those that send there
        u32 to = 0;
        std::vector<u32> lists;     // by device's number; none: not yet known
    };

    // Seconds that what is there takes.
    double load(u32 link) const override {
        const Port& port = ports_[LinkId(link)];
        const u64 bytes = port.queue_bytes + (port.is_busy ? port.last_bytes : 0);
        return static_cast<double>(bytes) / static_cast<double>(port.bits_per_s);
    }
    const std::vector<u32>& links_of(Target& target, u32 device);

    const Ports& ports_;
    const Senders& senders_;
    Chooser* chooser_ = nullptr;
    std::vector<u32> number_;       // by device with several links
    u32 numbers_ = 0;
    std::vector<Target> targets_;
    std::map<std::pair<u32, u32>, u32> target_of_;   // by region and destination
    std::vector<std::vector<u32>> lists_;
    std::map<std::vector<u32>, u32> list_of_;
    std::vector<u32> links_;        // scratch
};

}  // namespace yantra::packet
