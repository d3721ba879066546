// TableCost: an iteration's time as sums of tabulated parts, linear between knots. Trade-off:
// sequences of unlike contexts count as many of their mean. Between two knots of context iterations
// are an arithmetic series, rounded to whole ps.
#pragma once

#include <algorithm>
#include <cmath>

#include "base/ensure.hpp"
#include "serving/cost.hpp"

namespace yantra::serving {

// It goes on beyond its ends as it ends.
class Curve {
public:
    Curve(std::vector<double> knots, std::vector<double> values) : knots_(std::move(knots)), values_(std::move(values)) {
        ensure(knots_.size() == values_.size() && !knots_.empty(), "a curve without knots");
    }
    double at(double x) const {
        if (knots_.size() == 1) {
            return values_.front();
        }
        const std::size_t cell = cell_of(knots_, x);
        return values_[cell] + slope(cell) * (x - knots_[cell]);
    }

    static std::size_t cell_of(const std::vector<double>& knots, double x) {
        const auto above = std::upper_bound(knots.begin() + 1, knots.end() - 1, x);
        return static_cast<std::size_t>(above - knots.begin()) - 1;
    }

private:
    double slope(std::size_t cell) const {
        return (values_[cell + 1] - values_[cell]) / (knots_[cell + 1] - knots_[cell]);
    }

    std::vector<double> knots_;
    std::vector<double> values_;
};

// Bilinear between knots; at least two of each.
class Surface {
public:
    struct Point {
        double value;
        double slope;   // by the second number
        double edge;    // the second number up to which the slope holds
    };

    Surface(std::vector<double> first, std::vector<double> second, std::vector<double> values)
        : first_(std::move(first)), second_(std::move(second)), values_(std::move(values)) {
        ensure(first_.size() > 1 && second_.size() > 1 && values_.size() == first_.size() * second_.size(),
               "a surface without knots");
    }
    Point at(double x, double y) const {
        const std::size_t row = Curve::cell_of(first_, x);
        const std::size_t column = Curve::cell_of(second_, y);
        const double share = (x - first_[row]) / (first_[row + 1] - first_[row]);
        const double low = between(row, column, share);
        const double high = between(row, column + 1, share);
        const double slope = (high - low) / (second_[column + 1] - second_[column]);
        const bool is_last = column + 2 == second_.size();
        return {low + slope * (y - second_[column]), slope, is_last ? 1e18 : second_[column + 1]};
    }

private:
    double between(std::size_t row, std::size_t column, double share) const {
        const double low = values_[row * second_.size() + column];
        return low + share * (values_[(row + 1) * second_.size() + column] - low);
    }

    std::vector<double> first_;
    std::vector<double> second_;
    std::vector<double> values_;   // by first, then second
};

struct OtherTerms {
    double per_iteration = 0.0;
    double per_sequence = 0.0;
    double per_token = 0.0;
    double with_prompts = 0.0;   // of an iteration in which there is some
};

struct PartTables {
    Curve by_tokens;
    Surface decode;    // sequences, mean context
    Surface prefill;   // tokens, those before
    Curve by_emitted;
    OtherTerms others;

    struct Sum {
        double value;
        double growth;   // an iteration later
        double count;    // iterations for which it holds
    };
    Sum of(const Batch& batch) const {
        const auto sequences = static_cast<double>(batch.sequences());
        const auto tokens = static_cast<double>(batch.tokens);
        Sum sum{by_tokens.at(tokens) + others.per_iteration + others.per_sequence * sequences +
                    others.per_token * tokens,
                0.0, 1e18};
        if (batch.emitting > 0) {
            sum.value += by_emitted.at(batch.emitting);
        }
        if (batch.decoding > 0) {
            const double context = static_cast<double>(batch.decode_context) / batch.decoding;
            const Surface::Point point = decode.at(batch.decoding, context);
            sum.value += point.value;
            sum.growth = point.slope;
            sum.count = std::max(1.0, std::ceil(point.edge - context));
        }
        if (!batch.only_decodes()) {
            sum.value += others.with_prompts;
            for (const Item& item : batch.items) {
                if (!item.decodes) {
                    sum.value += prefill.at(item.tokens, item.context).value;
                }
            }
        }
        return sum;
    }
};

class TableCost final : public Cost {
public:
    TableCost(PartTables time, PartTables operations, PartTables heavy)
        : time_(std::move(time)), operations_(std::move(operations)), heavy_(std::move(heavy)) {}

    Pace pace(const Batch& batch, u64 most) const override {
        const PartTables::Sum sum = time_.of(batch);
        const auto first = std::max<Time>(1, std::llround(sum.value * ps_per_ns));
        const auto growth = std::max<Time>(0, std::llround(sum.growth * ps_per_ns));
        return {first, growth, std::min(most, static_cast<u64>(sum.count))};
    }
    Amounts amounts(const Batch& batch, u64 count) const override {
        return {total(operations_.of(batch), count), total(heavy_.of(batch), count)};
    }

private:
    static double total(const PartTables::Sum& sum, u64 count) {
        const auto many = static_cast<double>(count);
        return sum.value * many + sum.growth * many * (many - 1) / 2;
    }

    PartTables time_;
    PartTables operations_;
    PartTables heavy_;
};

}  // namespace yantra::serving
