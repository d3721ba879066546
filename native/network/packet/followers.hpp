// Followers: switches in threads of their own, behind one simulator that has all hosts and is led by a
// job's engine. The engine reacts at once to what hosts hear, and only hosts hear it: so what has no
// delay stays in one thread, and the windows of network/packet/windows.hpp hold for the rest. A window
// begins where the engine stands, as it may send from then on. Trade-off: the thread of the engine has
// all hosts, half of the work over one switch, a quarter over two tiers.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/barrier.hpp"
#include "network/packet/partition.hpp"
#include "network/packet/simulator.hpp"

namespace yantra::packet {

class Followers {
public:
    // Precondition: the first part has all hosts.
    Followers(const FabricSpec& fabric, const Settings& settings, Observer& observer, Simulator& first,
              Partition partition);
    Followers(const Followers&) = delete;
    Followers& operator=(const Followers&) = delete;
    ~Followers();

    // The first simulator may handle all before it.
    u64 end() const { return end_; }
    // Begins the next window. Preconditions: that is handled, and no flow will be sent before `tick`.
    // Throws OneThread where one simulator has to begin again.
    void follow(u64 tick);
    // All but the first wait until follow(): routes may be added.
    void rest();
    // Nothing is left to do. They rest then.
    bool is_idle();
    void add_hops();

    const Partition& partition() const { return partition_; }
    // Of the part that counts it.
    HugeVector<Port> ports() const;
    Totals totals() const;
    u64 events() const;
    u64 now() const;   // the latest
    // Up to note_end(); empty: to now.
    const std::vector<u64>& busy_at_end() const { return busy_at_end_; }
    // As Watch's. Precondition of note_end(): `tick` is before end().
    void note_end(u64 tick);
    void goes_on() { busy_at_end_.clear(); }
    std::shared_ptr<const Seen> seen();

private:
    struct alignas(64) Said {
        u64 next = ~u64{0};   // event, or arrival that it sent
        const char* refused = nullptr;
        bool leaves = false;
    };

    const Port& port(LinkId link) const;
    void begin();
    void work(u32 part);
    void leave();
    Said say(u32 part) const;
    Said all_say(u32 set) const;
    void turn(u32 part, u32& set);
    void look(const Said& all, u64 tick);

    Simulator& first_;
    const Partition partition_;
    std::vector<std::unique_ptr<Simulator>> others_;
    std::vector<Simulator*> parts_;
    ThreadBarrier barrier_;
    std::array<std::vector<Said>, 2> said_;
    std::vector<std::thread> threads_;
    u32 set_ = 0;
    u64 end_ = 0;
    u64 heard_ = 0;                     // tick of the last byte acknowledged
    std::vector<u64> busy_at_end_;      // by link
};

}  // namespace yantra::packet
