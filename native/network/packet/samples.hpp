// Samples: states of many subjects at every multiple of an interval, or from change to change,
// before anything else of the tick, noted when a subject is about to change. If there are too many
// rows, every other is dropped. Trade-off: exact times of changes are lost.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/blocks.hpp"
#include "base/types.hpp"
#include "base/unsupported.hpp"

namespace yantra::packet {

// A `Row` has a `tick`, a `subject`, and `at(tick)`.
template <class Row>
class Samples {
public:
    Samples() = default;
    // 0 for all changes; then more than `most_rows` end the run (Unsupported).
    Samples(u64 every, std::size_t most_rows) : every_(every), most_rows_(most_rows) {}

    u64 begin(u32 subject, u64 now) {
        if (label_.size() <= subject) {
            label_.resize(subject + std::size_t{1}, 0);
        }
        label_[subject] = now;
        return moved(label_[subject], now);
    }

    // The subject is about to change from `row`. Returns the tick from which to note a change
    // again.
    u64 note(Row row, u64 now) {
        u64& label = label_[row.subject];
        if (every_ != 0) {
            label = (label + every_ - 1) / every_ * every_;   // it may have been doubled meanwhile
            if (now < label) {
                return label;
            }
        }
        row.at(label);
        const u64 next = moved(label, now);
        push(row);
        return next;
    }

    u64 pass(u32 subject, u64 now) { return moved(label_[subject], now); }

    Row present(Row row, u64 now) const {
        row.at(std::min(label_[row.subject], now));
        return row;
    }

    // The last row of a subject.
    void end(Row row, u64 now) {
        row.at(std::min(label_[row.subject], now));
        label_[row.subject] = ~u64{0};
        push(row);
    }

    const Blocks<Row>& rows() const { return rows_; }
    u64 every() const { return every_; }

private:
    u64 moved(u64& label, u64 now) const {
        label = every_ == 0 ? now : (now / every_ + 1) * every_;
        return every_ == 0 ? now + 1 : label;
    }

    void push(const Row& row) {
        rows_.push_back(row);
        if (rows_.size() >= most_rows_) [[unlikely]] {
            if (every_ == 0) {
                throw Unsupported("network.look: more than " + std::to_string(most_rows_) +
                                  " changes of packets; take samples, or look at a smaller run");
            }
            most_rows_ = std::max(most_rows_, 8 * label_.size());   // a subject has some rows at any interval
            while (rows_.size() > most_rows_ / 2) {
                thin();
            }
        }
    }

    // One at an odd multiple moves to the next even one, unless the next row is there already.
    void thin() {
        const u64 before = every_;
        every_ *= 2;
        std::vector<u64> next(label_);
        Blocks<Row> kept;
        std::vector<std::size_t> left;
        for (std::size_t at = rows_.size(); at-- > 0;) {
            Row& row = rows_[at];
            const u64 following = next[row.subject];
            next[row.subject] = row.tick;
            const u64 label = (row.tick + every_ - 1) / every_ * every_;
            const bool ended = row.tick % before != 0;   // the last of its subject
            if (ended || label < following) {
                row.tick = ended ? row.tick : label;
                left.push_back(at);
            }
        }
        for (std::size_t at = left.size(); at-- > 0;) {
            kept.push_back(rows_[left[at]]);
        }
        rows_ = std::move(kept);
    }

    u64 every_ = 0;
    std::size_t most_rows_ = 0;
    std::vector<u64> label_;   // by subject: the tick of its next row
    Blocks<Row> rows_;
};

}  // namespace yantra::packet
