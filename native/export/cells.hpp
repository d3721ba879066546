// Cells: a column of a table, and its values as text for CSV or JSON.
//
// Numbers are written as Python writes them, so that a table reads the same whichever way it went: whole
// ones as digits, real ones in the shortest form that reads back, with a decimal point.
// Trade-off: columns come in parts of some ten thousand rows, so no table is ever whole in memory.
// Source: RFC 4180 (CSV), RFC 8259 (JSON).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/types.hpp"
#include "base/vector.hpp"

namespace yantra {

enum class CellKind : u8 { whole, ticks, real, coded, given };

struct Cells {
    CellKind kind = CellKind::whole;
    std::span<const u64> values;          // of ticks, all ones where there is none; of real, the bits
    u64 number = 0;                       // ticks in a nanosecond; of coded, which texts
    Vector<std::string> given;       // as they stand; empty where there is none

    std::size_t size() const { return kind == CellKind::given ? given.size() : values.size(); }
};

class TableWriter {
public:
    explicit TableWriter(bool json) : json_(json) {}

    // Returns the number of a new list of texts that codes of a column stand for.
    u64 new_texts();

    // Adds to such a list.
    void add_texts(u64 number, const Vector<std::string>& texts);

    // Rows of CSV.
    std::string rows(const Vector<Cells>& columns) const;

    // Elements of a JSON list, with commas between them.
    std::string elements(const Cells& column) const;

private:
    void append(std::string& out, const Cells& column, std::size_t at) const;

    bool json_;
    Vector<Vector<std::string>> texts_;   // quoted where the form asks for it
};

// A field of CSV: quoted if it holds a comma, a quote or an end of line.
void append_field(std::string& out, std::string_view text);

// As repr() of Python's float.
void append_real(std::string& out, double value);

}  // namespace yantra
