// FoldedLinks: the store-and-forward network of a folded run, with one link for each class of links.
//
// All links of a class are offered the same messages at the same ticks (fold/link_classes.hpp finds
// them), so one of them shows what all do. That holds while all of them serve what they are offered
// in one order. Two messages that come in one tick are in one order everywhere if their rank sends them
// so (send_order.hpp), or if they set out on their last hops in different ticks, for events of one
// tick run in the order in which they were scheduled. Any other two are reported as a clash, for their
// order goes back to the numbers of ranks. A message that comes as the link becomes free is no clash:
// it leaves in this tick either way.
#pragma once

#include <functional>

#include "base/vector.hpp"
#include "network/store_and_forward.hpp"

namespace yantra {

inline namespace YANTRA_RUN {

class FoldedLinks final : public StoreAndForwardNetwork {
public:
    using Clash = std::function<void(const Links& links, u32 link)>;
    // Whether all ranks of a class send in this order what two causes stand for.
    using InOneOrder = std::function<bool(u64 first, u64 second)>;

    static constexpr u64 unknown = ~u64{0};

    FoldedLinks(const Grid& grid, TimeScale scale, Engine& engine, const LinkClasses& classes);

    // Who is asked about the order of messages, and hears of a clash.
    void report_to(InOneOrder in_one_order, Clash clash);
    // The next message is sent by what this number stands for.
    void caused_by(u64 cause) { cause_ = cause; }

    void send(const Message& message, Notice arrived, Notice departed) override;
    NetworkCapabilities capabilities() override { return {}; }   // a class of links has its own number
    // Of every link, on demand alone: see records().
    Vector<LinkRecord> links() const override { return {}; }
    Vector<LinkUse> dimensions() const override;

    // By class.
    Vector<LinkUse> uses() const;
    // Of every link of every class.
    static Vector<LinkRecord> records(const Links& links, const LinkClasses& classes,
                                           const Vector<LinkUse>& uses);

private:
    // The last message that a link was offered.
    struct Offered {
        u64 tick = ~u64{0};
        u64 cause = unknown;   // or, of one that passes, when it set out on its last hop
        bool passes = false;
    };

    void take_on(u32 transit) override { take_on(transit, true); }
    void take_on(u32 transit, bool passes);
    bool in_one_order(const Offered& first, const Offered& second) const;

    const LinkClasses& classes_;
    InOneOrder sent_in_one_order_;
    Clash clash_;
    u64 cause_ = unknown;
    Vector<Offered> offered_;   // by class
    Vector<u32> crossed_;       // by transit: its last link's class
};

}  // namespace YANTRA_RUN

}  // namespace yantra
